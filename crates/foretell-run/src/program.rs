//! The program that a command runs: its script or module, behind interpreters, launchers and their options.

use std::path::{Component, Path};

/// Programs whose argument is a program: the words after them count.
const LAUNCHERS: [&str; 40] = [
    "accelerate",
    "apptainer",
    "chrt",
    "conda",
    "coverage",
    "deepspeed",
    "docker",
    "env",
    "fabric",
    "hatch",
    "horovodrun",
    "ionice",
    "kernprof",
    "lightning",
    "mamba",
    "micromamba",
    "mpiexec",
    "mpirun",
    "nice",
    "nohup",
    "nsys",
    "numactl",
    "pdm",
    "pipenv",
    "pixi",
    "podman",
    "poetry",
    "rye",
    "setsid",
    "singularity",
    "srun",
    "ssh",
    "stdbuf",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "torchrun",
    "uv",
    "xvfb-run",
];
/// Programs that run a script: the first word behind their options.
const INTERPRETERS: [&str; 14] = [
    "bash", "ipython", "julia", "lua", "node", "perl", "pypy", "pypy3", "python", "Rscript", "ruby", "sh",
    "uvx", "zsh",
];
/// Interpreters whose `-c` is followed by commands. Behind that of others is the program itself.
const SHELLS: [&str; 3] = ["bash", "sh", "zsh"];
/// Modules of Python that are launchers.
const LAUNCHER_MODULES: [&str; 9] = [
    "accelerate.commands.launch",
    "coverage",
    "debugpy",
    "deepspeed",
    "ipdb",
    "kernprof",
    "pdb",
    "torch.distributed.launch",
    "torch.distributed.run",
];
/// Options of interpreters and launchers that are followed by a value even where nothing shows it.
const VALUED_OPTIONS: [&str; 3] = ["-W", "-X", "--with"];
/// Words of launchers that stand before the program.
const LAUNCHER_WORDS: [&str; 5] = ["exec", "launch", "run", "profile", "--"];
/// Endings of scripts.
const SCRIPT_EXTENSIONS: [&str; 12] =
    ["py", "pyw", "sh", "bash", "R", "jl", "rb", "pl", "lua", "js", "mjs", "ipynb"];

/// The program that the words of `command` run: the script (without `./`; a module as its file) or the program in front of all options and
/// placeholders, whichever interpreter, flags and launchers start it. Two commands with the same answer train the same program.
///
/// ```
/// let program = |command: &str| foretell_run::program_of(command.split(' '));
/// assert_eq!(program("python3 -u ./train.py --lr {lr}"), ["train.py"]);
/// assert_eq!(program("torchrun --nproc-per-node 2 train.py --lr {lr}"), ["train.py"]);
/// assert_eq!(program("srun -n 4 python -m train"), ["train.py"]);
/// assert_eq!(program("./simulate fast --dt {dt}"), ["simulate", "fast"]);
/// ```
pub fn program_of<'a>(command: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    // the words of `bash -c "python train.py"` may be one
    let words =
        command.into_iter().flat_map(|word| word.split(' ')).map(|word| word.trim_matches(['\'', '"']));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // `bash -c "cd a && python train.py"`: what comes before prepares
    let is_shell = words.iter().any(|word| is_program_in(word, &SHELLS));
    let joint = words.iter().rposition(|word| *word == "&&" || word.ends_with(';'));
    let begin = joint.filter(|_| is_shell).map_or(0, |place| place + 1);
    let words = &words[begin..];
    let mut is_code_next = false;
    let mut at = 0;
    let mut is_started_by_others = false;
    while let Some(&word) = words.get(at) {
        let rest = &words[at + 1..];
        match word {
            "-c" | "-e" if is_code_next => return vec![rest.join(" ")],
            "-m" | "--module" if is_started_by_others => {
                let module = rest.first().copied().unwrap_or_default();
                if !LAUNCHER_MODULES.contains(&module) {
                    return vec![format!("{}.py", module.replace('.', "/"))];
                }
                at += 2;
                continue;
            }
            _ if is_started_by_others && is_option(word) => {
                at += 1 + usize::from(takes_value(word, rest));
                continue;
            }
            _ if is_assignment(word)
                || starts_program(word)
                || is_started_by_others && is_launcher_word(word, rest) =>
            {
                is_code_next = is_program_in(word, &INTERPRETERS) && !is_program_in(word, &SHELLS);
                is_started_by_others = true;
            }
            _ if is_started_by_others && !word.contains('{') => return vec![without_dots(word)],
            _ => break,
        }
        at += 1;
    }
    let rest = words[at.min(words.len())..].iter();
    rest.take_while(|word| !is_option(word) && !word.contains('{')).map(|word| without_dots(word)).collect()
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1
}

/// Whether `word` starts another program.
fn starts_program(word: &str) -> bool {
    is_program_in(word, &LAUNCHERS) || is_program_in(word, &INTERPRETERS)
}

/// Whether `word` is one of `names`, in any folder. Versions count as the program: python3.11.
fn is_program_in(word: &str, names: &[&str]) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    [name, bare].iter().any(|name| names.contains(name))
}

/// `NAME=value` in front of a command, as in the shell and after `env`.
fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_script(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| SCRIPT_EXTENSIONS.iter().any(|known| ending == *known))
}

/// A word between a launcher and its program: a subcommand, a number, a duration such as 10m, or the image or host where the interpreter that
/// follows runs.
fn is_launcher_word(word: &str, rest: &[&str]) -> bool {
    LAUNCHER_WORDS.contains(&word)
        || !is_script(word)
            && (word.starts_with(|c: char| c.is_ascii_digit())
                || rest.first().is_some_and(|next| starts_program(next)))
}

/// Whether the first word of `rest` is the value of `option`: launchers have many options, so one that could be the program is none only if
/// another one follows.
fn takes_value(option: &str, rest: &[&str]) -> bool {
    let Some((next, others)) = rest.split_first() else { return false };
    if VALUED_OPTIONS.contains(&option) {
        return true;
    }
    if option.contains('=') || is_option(next) || is_script(next) || starts_program(next) {
        return false;
    }
    others
        .iter()
        .take_while(|word| !word.contains('{'))
        .any(|word| is_script(word) || starts_program(word) || *word == "-m")
}

/// A path without `./`, so that `./train.py` is `train.py`.
fn without_dots(word: &str) -> String {
    let parts = Path::new(word).components().filter(|part| *part != Component::CurDir);
    parts.collect::<std::path::PathBuf>().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::program_of;

    #[test]
    fn a_program_is_its_script_or_module() {
        let cases = [
            ("python3 -m first", "first.py"),
            ("python3 -u first.py", "first.py"),
            ("python3.11 -W ignore -X dev a/b.py --lr {lr}", "a/b.py"),
            ("python -m a.b --lr {lr}", "a/b.py"),
            ("uv run b.py --lr {lr}", "b.py"),
            ("uv run --with numpy b.py", "b.py"),
            ("uv run --python 3.12 python -u b.py", "b.py"),
            ("torchrun --nproc-per-node 2 t.py --lr {lr}", "t.py"),
            ("torchrun --nproc_per_node=2 -m pkg.t", "pkg/t.py"),
            ("python -m torch.distributed.run --nproc-per-node 2 t.py", "t.py"),
            ("accelerate launch --num_processes 2 t.py", "t.py"),
            ("accelerate launch -m t --lr {lr}", "t.py"),
            ("srun -n 4 python t.py", "t.py"),
            ("srun --gpus=1 python -u -m t", "t.py"),
            ("mpirun -np 4 -H a,b python t.py", "t.py"),
            ("bash -c 'python t.py --lr {lr}'", "t.py"),
            ("sh run.sh {lr}", "run.sh"),
            ("env OMP_NUM_THREADS=1 python t.py", "t.py"),
            ("CUDA_VISIBLE_DEVICES=0 python t.py", "t.py"),
            ("nice -n 5 python t.py", "t.py"),
            ("timeout 10m python t.py", "t.py"),
            ("conda run -n env python t.py", "t.py"),
            ("poetry run python t.py", "t.py"),
            ("bash -c 'cd a && python t.py --lr {lr}'", "t.py"),
            ("bash -lc 'source env.sh; OMP_NUM_THREADS=1 python -m t'", "t.py"),
            ("docker run --rm -v a:b image python t.py --lr {lr}", "t.py"),
            ("singularity exec image.sif python3 -u t.py", "t.py"),
            ("python -c 'import t; t.main({lr})'", "import t; t.main({lr})"),
            ("./simulate fast --dt {dt}", "simulate fast"),
            ("train {lr}", "train"),
            ("nohup ./train --lr {lr}", "train"),
            ("julia --project t.jl {lr}", "t.jl"),
            ("python {lr}", ""),
        ];
        for (command, program) in cases {
            assert_eq!(program_of(command.split(' ')).join(" "), program, "{command}");
        }
        // one word of a shell
        assert_eq!(program_of(["bash", "-c", "python t.py --lr {lr}"]), ["t.py"]);
    }
}
