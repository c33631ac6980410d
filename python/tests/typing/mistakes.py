"""Seven mistakes that a type checker finds: each is on a line of its own that ends in `# mistake`."""

import foretell
from foretell.optuna import ForetellPruner

SPACE = {"lr": foretell.log(1e-4, 1)}

study = foretell.Study(SPACE, metric="acc", epochs="20")  # mistake: a text for a number
foretell.Study(SPACE, metric="acc", epochs=20, sampler="bayes")  # mistake: no such sampler
foretell.Study(SPACE, metric="acc", epochs=20, trails=40)  # mistake: a misspelled setting
foretell.Study(SPACE, metric="acc", epochs=20, direction="up")  # mistake: no such direction
print(study.trials[0]["sate"])  # mistake: no such field
foretell.Judge("maximize", predictor="forest")  # mistake: no such predictor
ForetellPruner(max_resource=20, stop_probabilty=0.9)  # mistake: a misspelled setting of the judge
