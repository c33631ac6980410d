import math, time, pathlib, logging, os
p = pathlib.Path(__file__).parent / "conf"; p.mkdir(exist_ok=True)
if not (p / "config.yaml").exists(): (p / "config.yaml").write_text("optim:\n  lr: 0.01\n  name: adam\nmodel:\n  dropout: 0.1\n  layers: 2\ntrainer:\n  max_epochs: 5\nseed: 42\n")
import hydra
def curve(lr, e, drop=0.0):
    return (.9 - .1 * abs(math.log10(lr) + 2) - drop) * (1 - math.exp(-(e + 1) / 3)) + .0001 * (e % 3)
log = logging.getLogger(__name__)
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    for epoch in range(cfg.trainer.max_epochs):
        v = curve(cfg.optim.lr, epoch)
        log.info(f"Epoch {epoch} - train loss: {1.1 - v:.3f} - val acc: {v:.4f}"); truth(v=v); time.sleep(.02)
main()
