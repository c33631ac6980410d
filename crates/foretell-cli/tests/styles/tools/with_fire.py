"""A function that fire calls."""
import fire
from training import Training


def train(lr=0.1, batch_size=32, opt="sgd", hidden=(64, 64), epochs=5, seed=0):
    """Trains."""
    hidden = [int(size) for size in hidden]
    training = Training(epochs, lr, batch_size=batch_size, opt=opt, hidden=hidden, seed=seed)
    for epoch in range(epochs):
        print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)


fire.Fire(train)
