"""Flags of absl."""
from absl import app, flags
from training import Training

FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 0.1, "learning rate")
flags.DEFINE_integer("batch_size", 32, "batch size", lower_bound=1)
flags.DEFINE_enum("opt", "sgd", ["sgd", "adam"], "optimizer")
flags.DEFINE_bool("amp", False, "mixed precision")
flags.DEFINE_list("hidden", ["64", "64"], "widths")
flags.DEFINE_integer("epochs", 5, "epochs")
flags.DEFINE_integer("seed", 0, "seed")


def main(_):
    hidden = [int(size) for size in FLAGS.hidden]
    training = Training(FLAGS.epochs, FLAGS.lr, batch_size=FLAGS.batch_size, opt=FLAGS.opt, hidden=hidden, seed=FLAGS.seed)
    for epoch in range(FLAGS.epochs):
        print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)


app.run(main)
