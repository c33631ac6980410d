//! The hyperparameters that people tune: their usual names, and which values are worth trying.

use super::option::{OptionStyle, OptionType, ScriptFlag};
use std::fmt::Write;

/// How the values to try follow from the value that the script has.
#[derive(Clone, Copy, Debug)]
enum ValueRule {
    /// On a logarithmic scale from `down` times less to `up` times more, `most` at most; around `usual` where the script's value is not known, and
    /// within `zero` where it is 0 or none.
    Log { down: f64, up: f64, most: f64, usual: f64, zero: (f64, f64) },
    /// A fraction between these, widened to hold the script's value.
    Share(f64, f64),
    /// A factor by which something decays: close to 1 where the script's is.
    Decay,
    /// A quarter, half, twice of it, and it.
    Batch,
    /// Half to twice of it.
    Count { usual: f64 },
    /// A quarter to four times of it; lists of it, halved and doubled.
    Width { usual: f64 },
    /// Half and twice of it, and it: sizes that must divide others.
    Divisor,
    /// Up to half of the epochs.
    WarmUp,
    /// Odd sizes around it.
    Kernel,
    /// Those of the script's own choices that are usual.
    Among(&'static str),
    /// A hundredth to a hundred times of it, where it is small: a name that stands for other things, too.
    Penalty,
}

/// No zero to speak of: around the usual value.
const USUAL_VALUE_FOR_ZERO: (f64, f64) = (0.0, 0.0);
/// A smallest value below this is nearly none.
const NEARLY_ZERO: f64 = 0.01;
/// The most choices of one parameter.
const MAX_CHOICES: usize = 4;

/// Names, as the last words of an option's name, and rules; the first are worth the most.
const KNOWN_PARAMETERS: [(&str, ValueRule); 29] = [
    (
        "lr learning_rate learningrate base_lr init_lr initial_lr max_lr peak_lr lr0 blr eta step_size lr_init \
         learning_rate_init",
        ValueRule::Log { down: 30.0, up: 30.0, most: 1.0, usual: 1e-2, zero: USUAL_VALUE_FOR_ZERO },
    ),
    (
        "weight_decay wd l2_reg l2 decay_weight weightdecay",
        ValueRule::Log { down: 100.0, up: 100.0, most: 1.0, usual: 1e-4, zero: (1e-6, 0.1) },
    ),
    ("batch_size bs batch batchsize mini_batch minibatch_size", ValueRule::Batch),
    (
        "dropout dropout_rate drop drop_rate dropout_prob dropout_p p_drop pdrop dropout_ratio",
        ValueRule::Share(0.0, 0.5),
    ),
    (
        "optimizer optim opt optimiser solver",
        ValueRule::Among("sgd adamw adam rmsprop adamw_torch momentum lion adafactor nadam lbfgs"),
    ),
    (
        "num_layers n_layers n_layer layers nlayers depth num_hidden_layers num_blocks n_blocks",
        ValueRule::Count { usual: 2.0 },
    ),
    ("num_leaves", ValueRule::Width { usual: 31.0 }),
    ("max_depth", ValueRule::Count { usual: 6.0 }),
    (
        "hidden hidden_size hidden_dim hidden_units hidden_sizes hidden_dims hidden_layers hidden_layer_sizes hidden_channels n_hidden nhid units width widths num_units \
         channels filters num_filters rnn_size",
        ValueRule::Width { usual: 64.0 },
    ),
    (
        "d_model n_embd embed_dim emsize embedding_dim embedding_size emb_dim dim model_dim",
        ValueRule::Divisor,
    ),
    ("num_heads n_heads n_head nhead heads nheads num_attention_heads", ValueRule::Divisor),
    ("momentum mom", ValueRule::Share(0.5, 0.99)),
    ("warmup_epochs warm_up_epochs num_warmup_epochs", ValueRule::WarmUp),
    ("warmup_ratio warmup_fraction pct_start warmup_proportion", ValueRule::Share(0.0, 0.3)),
    (
        "scheduler lr_scheduler sched lr_schedule lr_scheduler_type schedule lr_policy",
        ValueRule::Among(
            "cosine linear constant step constant_with_warmup onecycle one_cycle exponential polynomial none",
        ),
    ),
    ("label_smoothing label_smoothing_factor smoothing ls_alpha", ValueRule::Share(0.0, 0.2)),
    (
        "clip grad_clip max_grad_norm clip_grad clip_grad_norm gradient_clip_val grad_norm_clip",
        ValueRule::Log { down: 10.0, up: 10.0, most: 100.0, usual: 1.0, zero: (0.1, 10.0) },
    ),
    (
        "subsample colsample_bytree feature_fraction bagging_fraction colsample subsample_rate",
        ValueRule::Share(0.5, 1.0),
    ),
    ("min_child_samples min_data_in_leaf min_samples_leaf", ValueRule::Width { usual: 20.0 }),
    (
        "lambda_l1 lambda_l2 reg_alpha reg_lambda l2_leaf_reg min_child_weight",
        ValueRule::Log { down: 100.0, up: 100.0, most: 1000.0, usual: 1.0, zero: (1e-3, 10.0) },
    ),
    ("mixup mixup_alpha cutmix cutmix_alpha", ValueRule::Share(0.0, 1.0)),
    ("drop_path drop_path_rate stochastic_depth", ValueRule::Share(0.0, 0.3)),
    ("gamma lr_decay lr_gamma step_gamma lr_decay_rate decay_rate discount", ValueRule::Decay),
    ("beta1 beta_1 b1", ValueRule::Share(0.8, 0.99)),
    ("beta2 beta_2 b2", ValueRule::Share(0.9, 0.9999)),
    ("clip_range clip_coef gae_lambda ent_coef vf_coef", ValueRule::Decay),
    ("kernel_size kernel ksize", ValueRule::Kernel),
    ("alpha", ValueRule::Penalty),
    (
        "activation act activation_fn act_fn nonlinearity",
        ValueRule::Among("relu gelu tanh silu swish elu leaky_relu logistic"),
    ),
];

/// Words of names that are about something else than the training itself.
const NON_TRAINING_WORDS: &str = "out output in input class classes vocab test val valid validation eval evaluation dev inference predict prediction generation sample logging log";
/// Words before a learning rate that make it another one: its end, its start.
const OTHER_RATE_WORDS: &str = "min warmup end final last stop eps";

/// The proposal for an option.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KindProposal {
    /// The rank: the smaller, the more important.
    pub(super) place: usize,
    /// `log:1e-4:1`.
    pub(super) kind: String,
}

impl KindProposal {
    /// The proposal for an option without a usual name, at this place among the options.
    pub(super) fn unusual(at: usize, kind: String) -> Self {
        Self { place: KNOWN_PARAMETERS.len() + at, kind }
    }

    /// Whether it is a batch size.
    pub(super) fn is_batch_size(&self) -> bool {
        KNOWN_PARAMETERS.get(self.place).is_some_and(|(_, rule)| matches!(rule, ValueRule::Batch))
    }
}

/// The values of `option` that are worth trying, if it is a known hyperparameter; `epochs` are those of a whole training.
pub(super) fn proposal(option: &ScriptFlag, epochs: Option<u64>) -> Option<KindProposal> {
    let words = option.words();
    if option.type_of() == OptionType::Truth || words.iter().any(|word| is_word_in(word, NON_TRAINING_WORDS))
    {
        return None;
    }
    let whole = words.join("_");
    let names = KNOWN_PARAMETERS
        .iter()
        .enumerate()
        .flat_map(|(place, (names, _))| names.split_whitespace().map(move |name| (place, name)));
    // `lambda_l2` is more than an `l2`
    let names = names.filter(|(_, name)| whole == *name || whole.ends_with(&format!("_{name}")));
    let (place, _) = names.max_by_key(|(_, name)| name.len())?;
    let rule = KNOWN_PARAMETERS[place].1;
    // `min_lr` or `warmup_lr` end as the learning rate does, even though they are other settings
    if place == 0 && words.iter().any(|word| is_word_in(word, OTHER_RATE_WORDS)) {
        return None;
    }
    let kind = if option.is_list { layer_widths_kind(option, rule) } else { kind(option, rule, epochs) }?;
    Some(KindProposal { place, kind })
}

fn is_word_in(word: &str, list: &str) -> bool {
    list.split_whitespace().any(|entry| entry == word)
}

/// Widths of layers: half of each, each, twice of each.
fn layer_widths_kind(option: &ScriptFlag, rule: ValueRule) -> Option<String> {
    let ValueRule::Width { .. } = rule else { return None };
    let sizes: Vec<u64> = option.list().iter().map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let is_list = !sizes.is_empty() && sizes.iter().all(|&size| size > 1);
    let [half, same, double] = [0.5, 1.0, 2.0].map(|factor| {
        let sizes = sizes.iter().map(|&size| ((size as f64 * factor).round() as u64).to_string());
        format_list(option, &sizes.collect::<Vec<_>>().join(","), "'")
    });
    is_list.then(|| format!("choice:{half},{same},{double}"))
}

/// The list that is the default of `option`, as one of its choices.
pub(super) fn written_list(option: &ScriptFlag) -> String {
    format_list(option, &option.list().join(","), "")
}

/// A list in brackets; in quotes if the option takes it without brackets as one word: `--hidden=64,64`.
fn format_list(option: &ScriptFlag, list: &str, quote: &str) -> String {
    let default = option.default.as_deref().unwrap_or_default();
    match option.style == OptionStyle::Joined && !default.starts_with(['[', '(']) {
        true => format!("{quote}{list}{quote}"),
        false => format!("[{list}]"),
    }
}

fn kind(option: &ScriptFlag, rule: ValueRule, epochs: Option<u64>) -> Option<String> {
    if let ValueRule::Among(usual) = rule {
        return usual_choices_kind(option, usual);
    }
    let is_number = option.default.is_none() || option.is_none() || option.number().is_some();
    if !is_number || option.values == OptionType::Text {
        return None;
    }
    if !option.choices.is_empty() {
        let numbers = option.choices.iter().all(|choice| choice.parse::<f64>().is_ok());
        let count = option.choices.len();
        return (numbers && (2..=2 * MAX_CHOICES).contains(&count))
            .then(|| format!("choice:{}", option.choices.join(",")));
    }
    let value = option.number().filter(|value| *value > 0.0);
    let is_whole = option.type_of() == OptionType::Whole;
    match rule {
        ValueRule::Log { .. } => logarithmic_kind(option, rule),
        ValueRule::Share(lo, hi) if option.values != OptionType::Whole => {
            let own = option.number().unwrap_or(lo);
            // the range must hold the script's own value, which is trained first
            let most = if own > hi { (1.2 * own).min(1.0) } else { hi };
            (0.0..=1.0).contains(&own).then(|| range(option, "float", lo.min(own), most))?
        }
        ValueRule::Decay if option.values != OptionType::Whole => match value? {
            // a factor of 1 or more decays nothing
            own if own >= 1.0 => None,
            own if own >= 0.9 => range(option, "float", 0.9, 0.9999_f64.max(own)),
            own => range(option, "float", own / 3.0, (3.0 * own).min(0.99)),
        },
        ValueRule::Batch => batch_size_kind(value.unwrap_or(64.0)),
        ValueRule::Count { usual } => {
            let own = value.unwrap_or(usual);
            range(option, "int", (own / 2.0).floor().max(1.0), 2.0 * own)
        }
        ValueRule::Width { usual } => {
            let own = value.unwrap_or(usual);
            range(option, "logint", (own / 4.0).ceil().max(1.0), 4.0 * own)
        }
        ValueRule::Divisor if is_whole => {
            let own = value?;
            let sizes = [own / 2.0, own, 2.0 * own].into_iter().filter(|size| size.fract() == 0.0);
            choice(&sizes.collect::<Vec<_>>())
        }
        ValueRule::WarmUp => {
            let most = epochs
                .map_or(5.0, |epochs| (epochs as f64 / 2.0).floor())
                .min(value.map_or(5.0, |own| 3.0 * own));
            (most >= 1.0).then(|| range(option, "int", 0.0, most))?
        }
        ValueRule::Kernel => {
            let own = value.unwrap_or(3.0);
            let sizes = [own - 2.0, own, own + 2.0].into_iter().filter(|&size| size >= 1.0);
            choice(&sizes.collect::<Vec<_>>())
        }
        ValueRule::Penalty => {
            let own = value.filter(|own| *own < NEARLY_ZERO)?;
            range(option, "log", own / 100.0, 100.0 * own)
        }
        ValueRule::Share(..) | ValueRule::Decay | ValueRule::Divisor | ValueRule::Among(_) => None,
    }
}

/// A logarithmic range around the script's value.
fn logarithmic_kind(option: &ScriptFlag, rule: ValueRule) -> Option<String> {
    let ValueRule::Log { down, up, most, usual, zero } = rule else { return None };
    let is_off = option.is_none() || option.number() == Some(0.0);
    if is_off && zero.0 > NEARLY_ZERO {
        // none may be more than the smallest value: a norm that is not clipped
        return None;
    }
    let around = option.number().filter(|value| *value > 0.0).unwrap_or(usual);
    let (lo, hi) = match is_off && zero != USUAL_VALUE_FOR_ZERO {
        true => zero,
        false => (around / down, (around * up).min(most.max(3.0 * around))),
    };
    // a whole number may be one because its default is written so: lr=1
    range(option, if option.values == OptionType::Whole { "logint" } else { "log" }, lo, hi)
}

/// The usual ones of the option's own choices, its default among them.
fn usual_choices_kind(option: &ScriptFlag, usual: &str) -> Option<String> {
    let own = option.default.as_ref().filter(|default| option.choices.contains(default));
    let others = usual.split_whitespace().filter_map(|name| {
        option
            .choices
            .iter()
            .find(|choice| choice.eq_ignore_ascii_case(name))
            .filter(|choice| Some(*choice) != own)
    });
    let options: Vec<&String> = own.into_iter().chain(others).take(MAX_CHOICES).collect();
    (options.len() > 1).then(|| {
        let names: Vec<&str> = options.iter().map(|name| name.as_str()).collect();
        format!("choice:{}", names.join(","))
    })
}

/// A quarter, half and twice of a batch size, and it.
fn batch_size_kind(size: f64) -> Option<String> {
    let sizes =
        [size / 4.0, size / 2.0, size, 2.0 * size].map(f64::round).into_iter().filter(|&size| size >= 1.0);
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.dedup();
    choice(&sizes)
}

fn choice(values: &[f64]) -> Option<String> {
    (values.len() > 1).then(|| {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        format!("choice:{}", values.join(","))
    })
}

/// A range of two significant digits within the range that the option takes.
fn range(option: &ScriptFlag, kind: &str, lo: f64, hi: f64) -> Option<String> {
    let (least, most) = option.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let (lo, hi) = match kind {
        "int" | "logint" => (lo.max(least).ceil(), hi.min(most).floor()),
        // .9999 is not 1
        _ if hi > 0.9 && hi < 1.0 => (round_to_two_digits(lo).max(least), hi.min(most)),
        _ => (round_to_two_digits(lo).max(least), round_to_two_digits(hi).min(most)),
    };
    let mut text = String::new();
    let _ = write!(text, "{kind}:{lo}:{hi}");
    (lo < hi && (lo > 0.0 || !kind.starts_with("log"))).then_some(text)
}

fn round_to_two_digits(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::proposal;
    use crate::commands::init::option::{OptionType, ScriptFlag};

    fn kind(flag: &str, default: &str) -> Option<String> {
        proposal(&ScriptFlag { default: Some(default.to_owned()), ..ScriptFlag::new(flag) }, Some(10))
            .map(|found| found.kind)
    }

    #[test]
    fn ranges_are_those_that_an_experienced_person_would_write() {
        let rows = [
            ("--lr", "0.1", "log:0.0033:1"),
            ("--learning_rate", "5e-5", "log:0.0000017:0.0015"),
            ("--lr", "1.0", "log:0.033:3"),
            ("--lr", "1", "log:0.033:3"),
            ("--weight-decay", "0.0", "log:0.000001:0.1"),
            ("--weight-decay", "None", "log:0.000001:0.1"),
            ("--weight-decay", "1e-4", "log:0.000001:0.01"),
            ("--per_device_train_batch_size", "8", "choice:2,4,8,16"),
            ("--batch-size", "64", "choice:16,32,64,128"),
            ("--dropout", "0.0", "float:0:0.5"),
            ("--hidden_dropout", "0.6", "float:0:0.72"),
            ("--adam_beta2", "0.999", "float:0.9:0.9999"),
            ("--num_leaves", "31", "logint:8:124"),
            ("--n_layer", "6", "int:3:12"),
            ("--n_embd", "384", "choice:192,384,768"),
            ("--momentum", "0.9", "float:0.5:0.99"),
            ("--lambda_l2", "0.0", "log:0.001:10"),
            ("--warmup-epochs", "5", "int:0:5"),
            ("--gamma", "0.7", "float:0.23:0.99"),
            ("--gamma", "0.99", "float:0.9:0.9999"),
            ("--label_smoothing_factor", "0.0", "float:0:0.2"),
            ("--model.lr", "0.02", "log:0.00067:0.6"),
            ("--alpha", "1e-4", "log:0.000001:0.01"),
            ("--learning_rate_init", "1e-3", "log:0.000033:0.03"),
        ];
        for (flag, default, expected) in rows {
            assert_eq!(kind(flag, default).as_deref(), Some(expected), "{flag} {default}");
        }
    }

    #[test]
    fn what_nobody_tunes_is_not_proposed() {
        for (flag, default) in [
            ("--test-batch-size", "1000"),
            ("--per_device_eval_batch_size", "8"),
            ("--min_lr", "1e-5"),
            ("--warmup_lr", "1e-6"),
            ("--out_dim", "10"),
            ("--log_level", "passive"),
            ("--hub_strategy", "every_save"),
            ("--decay_lr", "True"),
            ("--num_workers", "4"),
            ("--barebones", "false"),
            ("--layers", "[3, 4, 6]"),
            ("--lr", "auto"),
        ] {
            assert_eq!(kind(flag, default), None, "{flag} {default}");
        }
    }

    #[test]
    fn choices_types_and_ranges_of_the_option_itself_hold() {
        let choices = |names: &str| names.split(',').map(str::to_owned).collect::<Vec<_>>();
        let default = |text: &str| Some(text.to_owned());
        let kind = |option: ScriptFlag| proposal(&option, None).map(|found| found.kind);
        let optim = ScriptFlag {
            choices: choices("adamw_torch,adafactor,sgd,adagrad,lomo"),
            default: default("adamw_torch"),
            ..ScriptFlag::new("--optim")
        };
        assert_eq!(kind(optim).as_deref(), Some("choice:adamw_torch,sgd,adafactor"));
        let unusual =
            ScriptFlag { choices: choices("a,b"), default: default("a"), ..ScriptFlag::new("--optim") };
        assert_eq!(kind(unusual), None);
        let sizes = ScriptFlag {
            choices: choices("16,32"),
            default: default("16"),
            ..ScriptFlag::new("--batch-size")
        };
        assert_eq!(kind(sizes).as_deref(), Some("choice:16,32"));
        let bounded =
            ScriptFlag { range: Some((0.0, 0.3)), default: default("0.1"), ..ScriptFlag::new("--dropout") };
        assert_eq!(kind(bounded).as_deref(), Some("float:0:0.3"));
        let list = ScriptFlag { is_list: true, default: default("[64, 32]"), ..ScriptFlag::new("--hidden") };
        assert_eq!(kind(list).as_deref(), Some("choice:[32,16],[64,32],[128,64]"));
        let whole =
            ScriptFlag { values: OptionType::Whole, default: default("0"), ..ScriptFlag::new("--dropout") };
        assert_eq!(kind(whole), None);
    }
}
