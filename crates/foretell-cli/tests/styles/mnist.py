"""In the style of PyTorch's example for MNIST: argparse, batches and a test line."""
import argparse
from training import Training

parser = argparse.ArgumentParser(description="A digit classifier")
parser.add_argument("--batch-size", type=int, default=64, metavar="N", help="input batch size for training (default: 64)")
parser.add_argument("--test-batch-size", type=int, default=1000, metavar="N", help="input batch size for testing (default: 1000)")
parser.add_argument("--epochs", type=int, default=8, metavar="N", help="number of epochs to train (default: 8)")
parser.add_argument("--lr", type=float, default=1.0, metavar="LR", help="learning rate (default: 1.0)")
parser.add_argument("--gamma", type=float, default=0.7, metavar="M", help="learning rate step gamma (default: 0.7)")
parser.add_argument("--no-accel", action="store_true", help="disables the accelerator")
parser.add_argument("--dry-run", action="store_true", help="quickly check a single pass")
parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed (default: 1)")
parser.add_argument("--log-interval", type=int, default=10, metavar="N", help="how many batches to wait before logging")
parser.add_argument("--save-model", action="store_true", help="for saving the current model")
args = parser.parse_args()
training = Training(args.epochs, args.lr, 0.3, batch_size=args.batch_size, gamma=args.gamma, seed=args.seed)
for epoch in range(1, args.epochs + 1):
    accuracy = training.epoch()
    for batch in range(0, 60000, 20000):
        print(f"Train Epoch: {epoch} [{batch}/60000 ({100 * batch / 60000:.0f}%)]\tLoss: {1.2 - accuracy:.6f}")
    right = round(10000 * accuracy)
    print(f"\nTest set: Average loss: {1 - accuracy:.4f}, Accuracy: {right}/10000 ({right / 100:.0f}%)\n", flush=True)
