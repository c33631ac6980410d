"""A made-up training for the other scripts here: its curve follows from its settings. What it did is written into the folder TRUTH."""
import json, math, os, time


class Training:
    """Counts epochs, and writes the settings, the epochs so far and the epochs of the whole training after each of them."""

    def __init__(self, whole, lr, best_lr=0.01, unit=1, **others):
        self.whole, self.done, self.unit, self.settings = whole, 0, unit, dict(others, lr=lr)
        self.top = 0.9 - 0.08 * abs(math.log10(lr / best_lr))
        self.write()

    def epoch(self):
        time.sleep(0.02)
        self.done += 1
        self.write()
        return max(self.top * (1 - math.exp(-3 * self.done / self.whole)), 0.01)

    def write(self):
        folder, trial = os.environ.get("TRUTH"), os.environ.get("FORETELL_TRIAL")
        if folder and trial:
            path = os.path.join(folder, trial + ".json")
            with open(path + ".new", "w") as file:
                json.dump({"settings": self.settings, "epochs": self.done * self.unit, "whole": self.whole * self.unit}, file)
            os.replace(path + ".new", path)
