"""Training that is only pretended; it keeps its epochs and their values in a file of its own, which the tests count."""
import math, os, time

def text(lr, epoch):
    return f"{(0.9 - 0.15 * abs(math.log10(lr) + 2)) * (1 - 0.5 ** epoch):.4f}"

def epochs(lr, count):
    for epoch in range(1, count + 1):
        with open(f"counted-{os.environ.get('FORETELL_TRIAL', 'init')}", "a") as file:
            file.write(text(lr, epoch) + "\n")
        yield epoch, text(lr, epoch)
        time.sleep(0.05)
