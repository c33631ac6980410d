"""A configuration that Hydra composes from the folder conf."""
import hydra
from training import Training


@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(config):
    training = Training(config.epochs, config.optim.lr, weight_decay=config.optim.weight_decay, dropout=config.model.dropout, batch_size=config.batch_size, seed=config.seed)
    for epoch in range(config.epochs):
        print(f"epoch {epoch + 1}: val_acc {training.epoch():.4f}", flush=True)


main()
