//! Every `foretell` command of README and the book, as its page writes it.
//!
//! A page of the tutorial, the start or the how-to guides is followed from top to bottom, by one shell in one folder, and each text that it shows is
//! compared with the printed one, numbers by their form. The folder contains the files that the commands name: a training script, its study
//! file, recorded curves, printed logs, a completed study. Of the other pages each command runs alone, and searches are only explained.
//! Commands that need another machine, the internet or somebody else's data are named below.

mod common;

use common::{foretell, text};
use std::path::Path;
use std::process::Output;

/// Commands that cannot be run here, by their first words, with the reason.
const NOT_RUN: [(&str, &str); 31] = [
    ("cargo install", "it builds the program"),
    ("pip install", "it builds the Python package"),
    ("nvidia-cuda-mps-control", "it needs GPUs"),
    ("echo quit | nvidia-cuda-mps-control", "it needs GPUs"),
    ("url=", "it needs a server"),
    ("curl", "it needs a server"),
    ("export FORETELL_TOKEN", "it needs another machine"),
    ("ssh", "it needs another machine"),
    ("cd my-project", "it needs another machine"),
    ("kubectl", "it needs Kubernetes"),
    ("python3 benches/q_learning.py", "it takes half an hour"),
    ("python train.py -m hydra/sweeper", "it needs Hydra"),
    ("foretell search study.toml --on workers", "it needs another machine"),
    ("FORETELL_PYTHON=.venv/bin/python", "it needs Ray"),
    ("foretell search --sampler q-learning", "it trains 120 networks"),
    ("foretell search --objective val_acc --objective weights:min", "it trains 40 networks"),
    ("foretell search --config base.yaml", "it needs the reader's configuration file"),
    ("foretell study retry", "it needs failed trials"),
    ("foretell serve", "it serves until it is ended"),
    ("foretell worker", "it needs another machine's study"),
    ("foretell data fetch", "it needs the internet"),
    ("foretell search --data cifar10:DIR", "it needs the images"),
    ("foretell search --space metaqnn", "explained by the built-in search"),
    ("foretell report runs/rates", "it needs the study of the line before"),
    ("foretell evaluate CURVES", "it stands for any file"),
    ("foretell replay CURVES", "it stands for any file"),
    ("foretell replay metaqnn_cifar10.csv", "it needs the paper's released curves"),
    ("foretell replay lstm_ptb.csv", "it needs the paper's released curves"),
    ("foretell reproduce DIR", "it needs the paper's released curves"),
    ("foretell reproduce data/convnet", "it takes minutes"),
    ("foretell search study.toml --gpus", "it needs GPUs"),
];

/// Recorded runs, and their epochs.
const RUNS: u32 = 120;
const EPOCHS: i32 = 30;

/// A training of five epochs, whose accuracy and latency depend on its learning rate.
const TRIAL: &str = r#"
digits=$(printf %s "$1" | tr -cd 1-9 | cut -c 1-3)
for epoch in 1 2 3 4 5; do echo "val_acc=0.$epoch$digits"; done
echo "latency=$digits"
"#;

/// The reader's own script on pages that show none: it takes any options, and an epoch takes no time.
const READERS_SCRIPT: &str = r#"
import argparse, math
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--hidden", type=int, default=8)
parser.add_argument("--epochs", type=int, default=27)
parser.add_argument("--log")
options, others = parser.parse_known_args()
end = 0.9 - 0.1 * abs(math.log10(options.lr) + 1) - 0.2 / options.hidden
log = open(options.log, "w") if options.log else None
print("epoch,val_acc", file=log, flush=True) if log else None
for epoch in range(1, options.epochs + 1):
    value = end * (1 - 0.8 ** epoch)
    print(f"{epoch},{value:.4f}", file=log, flush=True) if log else None
    print(f"epoch {epoch}: val_acc={value:.4f}", flush=True)
print(f"latency={options.hidden}")
"#;

/// A command of a page.
struct Told {
    /// As it is written, on one line.
    text: String,
    words: Vec<String>,
}

/// The `foretell` commands in the shell blocks of `page`.
fn commands(page: &str) -> Vec<Told> {
    let mut told = Vec::new();
    let (mut in_shell, mut line) = (false, String::new());
    for written in page.lines() {
        if let Some(language) = written.trim_start().strip_prefix("```") {
            in_shell = !in_shell && language == "sh";
            continue;
        }
        if !in_shell || written.trim_start().starts_with('#') {
            continue;
        }
        let written = written.split("   #").next().unwrap_or_default().trim();
        if let Some(begun) = written.strip_suffix('\\') {
            line.push_str(begun);
            continue;
        }
        line.push_str(written);
        let whole = std::mem::take(&mut line);
        if let Some(command) = of_program(&whole) {
            told.push(Told { words: split(&command), text: command });
        }
    }
    told
}

/// The `foretell` command that `line` runs; none for other programs, and for a line that is marked as incomplete.
fn of_program(line: &str) -> Option<String> {
    let line = line.rsplit("&& ").next()?;
    let line = line.split(" > ").next()?;
    let command = match line.strip_prefix("cargo run --release -- ") {
        Some(rest) => format!("foretell {rest}"),
        None => line.to_owned(),
    };
    (command.starts_with("foretell ") && !command.ends_with(" …")).then_some(command)
}

/// The words of a command line, without the program: quotes hold blanks together.
fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in command.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ') => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words.into_iter().skip(1).filter(|word| !word.is_empty()).collect()
}

/// A folder with all that pages name.
struct Scene {
    folder: tempfile::TempDir,
    path: std::ffi::OsString,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::copy(root.join("examples/scripts/fit.sh"), folder.path().join("fit.sh")).unwrap();
        std::fs::write(folder.path().join("train.py"), READERS_SCRIPT).unwrap();
        let scripts = folder.path().join("examples/scripts");
        std::fs::create_dir_all(&scripts).unwrap();
        std::fs::copy(root.join("examples/scripts/train.py"), scripts.join("train.py")).unwrap();
        let networks = folder.path().join("examples/networks");
        std::fs::create_dir_all(&networks).unwrap();
        for file in ["net.py", "metaqnn.toml", "cuda-convnet.toml"] {
            std::fs::copy(root.join("examples/networks").join(file), networks.join(file)).unwrap();
        }
        std::fs::create_dir(folder.path().join("data")).unwrap();
        for name in ["metaqnn-mnist", "cuda-convnet-cifar10", "lstm-characters"] {
            let recorded = format!("data/{name}.jsonl.gz");
            std::fs::copy(root.join(&recorded), folder.path().join(recorded)).unwrap();
        }
        // pages write `python`, which not every system provides
        let programs = folder.path().join("bin");
        std::fs::create_dir(&programs).unwrap();
        let python = std::process::Command::new("sh").args(["-c", "command -v python3"]).output().unwrap();
        std::os::unix::fs::symlink(text(&python.stdout).trim(), programs.join("python")).unwrap();
        let path = std::env::join_paths(
            std::iter::once(programs).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let scene = Self { path: path.unwrap(), folder };
        scene.curves();
        scene.studies();
        scene
    }

    /// Recorded and printed curves under all the names that pages give them.
    fn curves(&self) {
        let (mut whole, mut cut) = (String::from("lr,hidden,weights,"), String::from("lr,hidden,weights,"));
        let epochs: Vec<String> = (1..=EPOCHS).map(|epoch| format!("val_acc_{epoch}")).collect();
        whole.push_str(&epochs.join(","));
        cut.push_str(&epochs[..10].join(","));
        for run in 0..RUNS {
            let (rate, end) =
                (f64::from(run + 1) / f64::from(RUNS), 0.5 + 0.4 * (f64::from(run) * 0.7).sin());
            let values: Vec<String> =
                (1..=EPOCHS).map(|epoch| format!("{:.4}", end * (1.0 - 0.6_f64.powi(epoch)))).collect();
            let settings = format!("\n{rate:.4},{},{}", run % 8 + 2, 1000 + 37 * (run * 7 % RUNS));
            whole.push_str(&format!("{settings},{}", values.join(",")));
            cut.push_str(&format!("{settings},{}", values[..10].join(",")));
            let folder = self.folder.path().join(format!("runs/lr={rate:.4}"));
            std::fs::create_dir_all(&folder).unwrap();
            let printed: String =
                values.iter().map(|value| format!("val_acc={value} val/loss=0.{run}\n")).collect();
            std::fs::write(folder.join("output.log"), printed).unwrap();
            // and as Lightning's CSVLogger keeps them
            let rows =
                values.iter().enumerate().map(|(epoch, value)| format!("\n{epoch},{epoch},{value},0.{run}"));
            let logged = format!("epoch,step,val_acc,val/loss{}\n", rows.collect::<String>());
            std::fs::write(folder.join("metrics.csv"), logged).unwrap();
            std::fs::write(folder.join("hparams.yaml"), format!("lr: {rate:.4}\nhidden: {}\n", run % 8 + 2))
                .unwrap();
            if run < 3 {
                let folder = self.folder.path().join(format!("running/lr={rate:.4}"));
                std::fs::create_dir_all(&folder).unwrap();
                let rows = values.iter().take(10).enumerate();
                let rows: String =
                    rows.map(|(epoch, value)| format!("\n{epoch},{epoch},{value},0.{run}")).collect();
                std::fs::write(folder.join("metrics.csv"), format!("epoch,step,val_acc,val/loss{rows}\n"))
                    .unwrap();
                std::fs::write(
                    folder.join("hparams.yaml"),
                    format!("lr: {rate:.4}\nhidden: {}\n", run % 8 + 2),
                )
                .unwrap();
            }
        }
        for name in ["runs.csv", "finished.csv", "curves.csv"] {
            std::fs::write(self.folder.path().join(name), &whole).unwrap();
        }
        std::fs::write(self.folder.path().join("running.csv"), &cut).unwrap();
    }

    /// A study file, and finished studies under the names that pages give them.
    fn studies(&self) {
        let parameters = ["--param", "lr=log:1e-4:1", "--param", "opt=choice:sgd,adam"];
        let rest = ["--epochs", "5", "--trials", "8", "--metric", "val_acc", "--"];
        std::fs::write(self.folder.path().join("trial.sh"), TRIAL).unwrap();
        let command = ["sh", "trial.sh", "{lr}", "{opt}"];
        for out in ["foretell-out/digits", "foretell-out/digits-2", "STUDY", "foretell-out/command-…"] {
            self.run_well(&[&["search", "--out", out], &parameters[..], &rest[..], &command].concat());
        }
        let front =
            ["search", "--out", "foretell-out/STUDY", "--objective", "val_acc", "--objective", "latency:min"];
        let rest = ["--epochs", "5", "--trials", "8", "--"];
        self.run_well(&[&front, &parameters[..], &rest[..], &command].concat());
        self.run_well(&["import", "curves.csv", "--out", "curves.jsonl"]);
        self.run_well(&["import", "running.csv", "--out", "running.jsonl"]);
        std::fs::write(self.folder.path().join("wanted.jsonl"), "{\"lr\": 0.5, \"opt\": \"sgd\"}\n").unwrap();
        self.run_well(&["init", "--", "python", "train.py"]);
    }

    fn run(&self, words: &[&str]) -> Output {
        foretell(self.folder.path(), words).env("PATH", &self.path).output().unwrap()
    }

    fn run_well(&self, words: &[&str]) -> Output {
        let output = self.run(words);
        assert!(output.status.success(), "foretell {}: {}", words.join(" "), text(&output.stderr));
        output
    }

    /// Runs a command of a page; searches are only explained.
    fn follow(&self, told: &Told) -> Output {
        let mut words: Vec<&str> = told.words.iter().map(String::as_str).collect();
        if words[0] == "search" && !words.contains(&"--explain") {
            words.insert(1, "--explain");
        }
        // the study file is there already
        if words[0] == "init" {
            words.insert(1, "--force");
        }
        self.run(&words)
    }
}

/// README and all pages of the book.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md"), root.join("docs/introduction.md")];
    for kind in ["start", "tutorial", "how-to", "explanation", "research"] {
        paths.extend(
            std::fs::read_dir(root.join("docs").join(kind)).unwrap().map(|entry| entry.unwrap().path()),
        );
    }
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// Whether `page` is followed from top to bottom.
fn is_followed(page: &str) -> bool {
    ["docs/tutorial/", "docs/start/", "docs/how-to/"].iter().any(|folder| page.starts_with(folder))
}

/// Whether `command` needs something that is not here.
fn is_not_run(command: &str) -> bool {
    NOT_RUN.iter().any(|(begin, _)| command.starts_with(begin))
}

#[test]
fn commands_of_the_other_pages_do_what_they_say() {
    let scene = Scene::new();
    let (mut run, mut failed) = (0, Vec::new());
    for (page, text_of_page) in pages().into_iter().filter(|(page, _)| !is_followed(page)) {
        for told in commands(&text_of_page).iter().filter(|told| !is_not_run(&told.text)) {
            let output = scene.follow(told);
            run += 1;
            if !output.status.success() {
                failed.push(format!("{page}: {}\n{}", told.text, text(&output.stderr)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(run > 5, "only {run} commands were found");
}

/// The lines of the shell blocks of `page`, as a reader types them, and the lines of the texts that it shows below a shell block.
fn typed_and_shown(page: &str) -> (Vec<String>, Vec<String>) {
    let (mut typed, mut shown) = (Vec::new(), Vec::new());
    let (mut block, mut line) = (None, String::new());
    let mut is_recorded = false;
    for written in page.lines() {
        // texts that were recorded on a terminal are compared with their record: see `the_first_pages_show_what_was_recorded`
        if written.starts_with("<!-- recorded") {
            is_recorded = !written.starts_with("<!-- recorded: end");
        }
        if let Some(language) = written.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.to_owned()) };
            continue;
        }
        match block.as_deref() {
            Some("sh") if !written.trim_start().starts_with('#') => match written.trim().strip_suffix('\\') {
                Some(begun) => line.push_str(begun),
                None => {
                    line.push_str(written.trim());
                    typed.push(std::mem::take(&mut line));
                }
            },
            Some("text") if !typed.is_empty() && !is_recorded => shown.push(written.to_owned()),
            _ => {}
        }
    }
    typed.retain(|line| !line.is_empty() && !line.ends_with(" …"));
    (typed, shown)
}

/// `line` without the digits of its numbers, the bars of its curve and its blanks: what stays is its form.
fn form(line: &str) -> String {
    let mut form = String::new();
    for letter in line.chars().filter(|letter| !letter.is_whitespace() && !('▁'..='█').contains(letter)) {
        match letter.is_ascii_digit() || letter == '.' {
            true if form.ends_with('#') => {}
            true => form.push('#'),
            false => form.push(letter),
        }
    }
    form
}

/// The lines of `shown` whose form was not printed. A line that ends in … is a beginning, and one may be broken to fit the page.
fn never_printed<'a>(shown: &'a [String], printed: &str) -> Vec<&'a str> {
    let whole = form(printed);
    let is_printed = |line: &str| {
        let begin = line.split('…').next().unwrap_or_default();
        whole.contains(&form(begin))
    };
    shown.iter().map(String::as_str).filter(|line| !is_printed(line)).collect()
}

/// Follows a page from top to bottom; the complaints.
fn follow_page(page: &str, text_of_page: &str) -> Vec<String> {
    let (typed, shown) = typed_and_shown(text_of_page);
    let typed: Vec<String> = typed.into_iter().filter(|line| !is_not_run(line)).collect();
    if typed.is_empty() {
        return Vec::new();
    }
    let scene = Scene::new();
    for (command, made) in [("foretell init", "study.toml"), ("foretell import", "curves.jsonl")] {
        if typed.iter().any(|line| line.contains(command)) {
            std::fs::remove_file(scene.folder.path().join(made)).unwrap();
        }
    }
    let script: String = typed
        .iter()
        .map(|line| format!("{line}\ncode=$?; [ $code = 0 ] || echo \"FAILED $code: $(basename $PWD)\"\n"))
        .collect();
    let programs = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap().to_owned();
    let path =
        std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&scene.path))).unwrap();
    let mut shell = std::process::Command::new("bash");
    shell
        .arg("-c")
        .arg(format!("exec 2>&1\nset -v\n{script}"))
        .current_dir(scene.folder.path())
        .env("PATH", path);
    let printed = text(&shell.stdin(std::process::Stdio::null()).output().unwrap().stdout);
    let mut complaints = Vec::new();
    if printed.lines().any(|line| line.starts_with("FAILED ")) {
        complaints.push(format!("{page}: a command failed:\n{printed}"));
    }
    for line in never_printed(&shown, &printed) {
        complaints.push(format!("{page} shows a line that its commands don't print: {line}"));
    }
    complaints
}

#[test]
fn pages_work_from_top_to_bottom() {
    let pages: Vec<_> = pages().into_iter().filter(|(page, _)| is_followed(page)).collect();
    let complaints: Vec<String> = pages.iter().flat_map(|(page, text)| follow_page(page, text)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
}

#[test]
fn nothing_is_left_out_that_no_page_has() {
    let alone = pages().into_iter().flat_map(|(_, page)| commands(&page)).map(|told| told.text);
    let followed = pages().into_iter().flat_map(|(_, page)| typed_and_shown(&page).0);
    let told: Vec<String> = alone.chain(followed).collect();
    for (begin, why) in NOT_RUN {
        assert!(told.iter().any(|text| text.starts_with(begin)), "{begin} ({why}) is on no page");
    }
}

#[test]
fn study_files_of_the_pages_are_explained() {
    let scene = Scene::new();
    let mut files = 0;
    for (page, text_of_page) in pages() {
        for block in text_of_page.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            if !block.contains("command =") {
                continue;
            }
            std::fs::write(scene.folder.path().join("page.toml"), block).unwrap();
            let output = scene.run(&["search", "page.toml", "--explain"]);
            assert!(output.status.success(), "{page}: {}\n{block}", text(&output.stderr));
            files += 1;
        }
    }
    assert!(files > 0, "no study file was found");
}

#[test]
fn what_a_plan_prints_is_what_its_page_shows() {
    let scene = Scene::new();
    let (_, page) = pages().into_iter().find(|(name, _)| name.ends_with("hyperband.md")).unwrap();
    let told = commands(&page).into_iter().next().unwrap();
    let output = scene.follow(&told);
    let printed = text(&output.stdout) + &text(&output.stderr);
    let shown = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    for line in shown.lines() {
        let line = line.split('…').next().unwrap();
        assert!(printed.contains(line), "{line:?} is not in:\n{printed}");
    }
}

#[test]
fn badges_name_this_version_and_the_oldest_compiler() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let badges = std::fs::read_to_string(root.join("docs/images/badges.svg")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for said in [env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_RUST_VERSION")] {
        assert!(badges.contains(&format!(">{said}<")), "{said} is not in the badges");
    }
    let line = format!("![version {}, Rust {},", env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_RUST_VERSION"));
    assert!(readme.contains(&line), "README has no {line}");
}

#[test]
fn the_first_pages_show_what_was_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = std::process::Command::new("python3")
        .arg(root.join("scripts/record-search"))
        .arg("--check")
        .output()
        .expect("python3 is installed");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
}
