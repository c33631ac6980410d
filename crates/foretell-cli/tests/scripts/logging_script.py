"""The module logging, on standard error."""
import argparse, logging, math, time

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
for epoch in range(1, args.epochs + 1):
    time.sleep(0.01)
    logging.info("Train accuracy: %.4f, Validation accuracy: %.4f", 1 - 0.5 ** epoch, (0.8 - 0.1 * abs(math.log10(args.learning_rate) + 2)) * (1 - 0.5 ** epoch))
