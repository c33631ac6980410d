//! The examples at the end of the help of each command.

pub(crate) const PROGRAM_EXAMPLES: &str = "Examples:
  foretell init -- python train.py      # write study.toml for your script
  foretell search study.toml            # search, and stop losing trials
  foretell study best foretell-out/NAME # show the best trial of a study";
pub(crate) const SEARCH_EXAMPLES: &str = "Examples:
  foretell search --param lr=log:1e-4:1 --metric val_acc --epochs 30 \\
    -- python train.py --lr {lr}
  foretell search study.toml --trials 100
  foretell search study.toml --explain";
pub(crate) const EVALUATE_EXAMPLES: &str = "Examples:
  foretell evaluate curves.jsonl --observed 0.1,0.25,0.5
  foretell evaluate runs.csv --metric val_acc --predictor last-value,auto --plot accuracy.svg";
pub(crate) const FORECAST_EXAMPLES: &str = "Examples:
  foretell forecast --history finished.csv running.csv
  foretell forecast --history curves.jsonl running.jsonl --plot forecast.svg";
#[cfg(feature = "paper")]
pub(crate) const REPRODUCE_EXAMPLES: &str = "Examples:
  foretell reproduce released
  foretell reproduce released --only table-1,table-2 --format json";
pub(crate) const REPLAY_EXAMPLES: &str = "Examples:
  foretell replay wandb --metric val_acc
  foretell replay curves.jsonl --caution safe,balanced,fast
  foretell replay curves.jsonl --report savings.html";
pub(crate) const DRAW_EXAMPLES: &str = "Examples:
  foretell draw curves.jsonl --plot curves.svg";
pub(crate) const IMPORT_EXAMPLES: &str = "Examples:
  foretell import wandb --list
  foretell import lightning_logs --metric val_acc --out curves.jsonl";
pub(crate) const INIT_EXAMPLES: &str = "Examples:
  foretell init -- python train.py --lr 0.1
  foretell init --out lr.toml --yes -- python train.py";
pub(crate) const SCHEMA_EXAMPLES: &str = "Examples:
  foretell schema > study.schema.json";
pub(crate) const COMPLETIONS_EXAMPLES: &str = "Examples:
  foretell completions bash > ~/.local/share/bash-completion/completions/foretell";
#[cfg(feature = "serve")]
pub(crate) const SERVE_EXAMPLES: &str = "Examples:
  foretell serve
  foretell serve foretell-out --address 0.0.0.0:8675";
pub(crate) const WORKER_EXAMPLES: &str = "Examples:
  foretell worker foretell-out/NAME
  FORETELL_TOKEN=TOKEN foretell worker http://HOST:8675 NAME --gpus 0,1";
#[cfg(feature = "serve")]
pub(crate) const REPORT_EXAMPLES: &str = "Examples:
  foretell report foretell-out/NAME --out report.html";
pub(crate) const STUDY_EXAMPLES: &str = "Examples:
  foretell study ls
  foretell study show foretell-out/NAME
  foretell study best foretell-out/NAME";
#[cfg(feature = "nn")]
pub(crate) const DATA_EXAMPLES: &str = "Examples:
  foretell data fetch cifar10";
#[cfg(feature = "nn")]
pub(crate) const TRAIN_EXAMPLES: &str = "Examples:
  foretell train --net '[C(16,3,1), P(2,2), SM(10)]' --epochs 5";
pub(crate) const LS_EXAMPLES: &str = "Examples:
  foretell study ls
  foretell study ls --sort best";
pub(crate) const COMPARE_EXAMPLES: &str = "Examples:
  foretell study compare foretell-out/A foretell-out/B";
pub(crate) const ENQUEUE_EXAMPLES: &str = "Examples:
  foretell study enqueue foretell-out/NAME lr=0.1,opt=sgd
  foretell study enqueue foretell-out/NAME --file configurations.txt";
pub(crate) const NOTE_EXAMPLES: &str = "Examples:
  foretell study note foretell-out/NAME \"with the new data\"
  foretell study note foretell-out/NAME";
pub(crate) const BEST_EXAMPLES: &str = "Examples:
  foretell study best foretell-out/NAME
  foretell study best foretell-out/NAME 2 --format toml";
pub(crate) const FRONT_EXAMPLES: &str = "Examples:
  foretell study front foretell-out/NAME --plot front.svg";
pub(crate) const RUN_EXAMPLES: &str = "Examples:
  foretell study run foretell-out/NAME --seeds 3
  foretell study run foretell-out/NAME --trial 7 --epochs 100";
pub(crate) const SHOW_EXAMPLES: &str = "Examples:
  foretell study show foretell-out/NAME --top 5
  foretell study show foretell-out/NAME 7";
pub(crate) const EXPORT_EXAMPLES: &str = "Examples:
  foretell study export foretell-out/NAME --out curves.jsonl
  foretell study export foretell-out/NAME --trials --out trials.csv";
pub(crate) const PLOT_EXAMPLES: &str = "Examples:
  foretell study plot foretell-out/NAME --out curves.svg";
pub(crate) const RM_EXAMPLES: &str = "Examples:
  foretell study rm foretell-out/NAME";
pub(crate) const RETRY_EXAMPLES: &str = "Examples:
  foretell study retry foretell-out/NAME
  foretell study retry foretell-out/NAME 3 7";
pub(crate) const REREAD_EXAMPLES: &str = "Examples:
  foretell study reread foretell-out/NAME --metric val_acc
  foretell study reread foretell-out/NAME --metric 'Test: Acc@1 {value}' --out acc1";
pub(crate) const DOCTOR_EXAMPLES: &str = "Examples:
  foretell study doctor foretell-out/NAME
  foretell study doctor foretell-out/NAME --repair";
#[cfg(feature = "nn")]
pub(crate) const FETCH_EXAMPLES: &str = "Examples:
  foretell data fetch cifar10
  foretell data fetch svhn --into data --from file:///media/disk/";
