//! Eighteen sets of 300 made-up learning curves of 50 epochs, harder to forecast than most real ones.
//!
//! `made_up_curves [DIR]` writes `cosine.csv`, `crossing.csv`, … into DIR (default: `target/made-up-curves`), the same every time;
//! `foretell evaluate DIR/*.csv` reads them. Each is something that trainings do and that is hard to foresee: see [`SETS`].

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;
use std::path::PathBuf;

const RUNS: usize = 300;
const EPOCHS: usize = 50;

/// Name, metric, and the value at each epoch of a run with some configuration.
type Set = (&'static str, &'static str, fn(&Configuration, &mut Draw) -> Vec<f64>);

/// The sets: what each imitates stands above it.
const SETS: [Set; 18] = [
    // a cosine schedule: a large learning rate is noisy and behind until the end
    ("cosine", "val_acc", |c, draw| {
        draw.curve(|t, draw| {
            let early = 0.5 * (1.0 + (std::f64::consts::PI * t / EPOCHS as f64).cos());
            let level = c.quality() - 0.45 * t.powf(-0.6) - 0.08 * c.heat() * early;
            level + (0.004 + 0.012 * early * c.heat()) * draw.normal()
        })
    }),
    // the learning rate falls after 25 and 40 epochs
    ("step-decay", "val_acc", |c, draw| {
        draw.curve(|t, draw| {
            let held_back = if t < 25.0 { 0.1 } else { 0.04 * f64::from(u8::from(t < 40.0)) };
            let noise = if t < 25.0 { 0.018 } else { 0.006 };
            c.quality() - 0.4 * t.powf(-0.7) - held_back * c.heat() + noise * draw.normal()
        })
    }),
    // a loss that rises again where a wide network has little dropout
    ("overfitting", "val_loss", |c, draw| {
        let rise = 0.0016 * c.width.log2() * (1.0 - c.dropout) * c.heat() * draw.between(0.7, 1.3);
        draw.curve(|t, draw| {
            let over = (t - 8.0 - 10.0 * c.dropout).max(0.0).powf(0.8);
            1.2 - c.quality() + 2.0 * t.powf(-1.1) + rise * over + 0.01 * draw.normal()
        })
    }),
    // noisy rewards below 0 that break through at any time, or never
    ("rewards", "reward", |c, draw| {
        let start = if draw.between(0.0, 1.0) < 0.6 { draw.between(3.0, 40.0) } else { 99.0 };
        let rise = 350.0 * c.quality() + 15.0 * draw.normal();
        draw.curve(|t, draw| -150.0 + rise / (1.0 + ((start - t) / 3.0).exp()) + 25.0 * draw.normal())
    }),
    // wide networks start slowly and win
    ("crossing", "val_acc", |c, draw| {
        let rate = 0.09 + 1.8 / c.width.log2().powf(1.2) * draw.between(0.8, 1.2);
        draw.curve(|t, draw| {
            let slow = 0.6 * (-rate * t).exp() + 0.02 * c.width.log2() * t.powf(-0.5);
            c.quality() + 0.006 * c.width.log2() - slow + 0.004 * draw.normal()
        })
    }),
    // a perplexity with spikes; with a large learning rate it leaps up at any time, at times to infinity
    ("diverging", "val_ppl", |c, draw| {
        let level = (4.2 - 1.5 * (c.quality() - 0.6)).exp();
        let leaps = c.heat() > 0.83 && draw.between(0.0, 1.0) < 0.6;
        let (leap, factor) = (draw.between(3.0, 46.0), draw.between(1.0, 6.0).exp());
        let end =
            if c.heat() > 0.93 && draw.between(0.0, 1.0) < 0.5 { draw.between(3.0, 46.0) } else { 99.0 };
        let spike = draw.between(2.0, 250.0).floor();
        draw.curve(|t, draw| {
            let lost = if t > end { f64::INFINITY } else { 1.0 };
            let leapt = if leaps && t > leap { factor } else { 1.0 };
            let spiked = if (t - spike).abs() < 0.5 { 5.0 } else { 1.0 };
            level * (1.0 + 3.0 * t.powf(-0.9)) * (0.01 * draw.normal()).exp() * leapt * spiked * lost
        })
    }),
    // power laws that the configuration says nothing of
    ("unexplained", "val_acc", |_, draw| {
        let (end, gap, rate) = (draw.between(0.4, 0.95), draw.between(0.1, 0.5), draw.between(0.2, 1.5));
        let noise = draw.between(0.002, 0.02);
        draw.curve(|t, draw| end - gap * t.powf(-rate) + noise * draw.normal())
    }),
    // a learning rate that starts again every ten epochs
    ("restarts", "val_acc", |c, draw| {
        draw.curve(|t, draw| {
            let cycle = 0.06 * (1.0 - (t % 10.0) / 9.0) * c.heat();
            c.quality() - 0.35 * t.powf(-0.6) - cycle + 0.005 * draw.normal()
        })
    }),
    // optimizers, one of them with a momentum that the others do not have
    ("optimizers", "val_acc", |c, draw| {
        let bonus = c.momentum.map_or(if c.optimizer == "adam" { 0.0 } else { -0.05 }, |m| 0.02 + 0.05 * m);
        let rate = if c.momentum.is_some() { 0.4 } else { 0.7 };
        draw.curve(|t, draw| c.quality() + bonus - 0.5 * t.powf(-rate) + 0.005 * draw.normal())
    }),
    // networks that never leave chance: too small a learning rate, or too deep for their optimizer
    ("stuck", "val_acc", |c, draw| {
        let stuck = c.learning_rate < 2e-4 || c.optimizer == "rmsprop" && c.layers > 5.0;
        draw.curve(
            |t, draw| if stuck { 0.1 } else { c.quality() - 0.5 * t.powf(-0.7) } + 0.006 * draw.normal(),
        )
    }),
    // deep networks with a large learning rate fall back to chance at any time
    ("collapse", "val_acc", |c, draw| {
        let collapses = c.heat() + 0.04 * c.layers > 1.0 && draw.between(0.0, 1.0) < 0.7;
        let end = if collapses { draw.between(2.0, 50.0) } else { 99.0 };
        draw.curve(|t, draw| {
            let level = if t > end { 0.1 } else { c.quality() - 0.45 * t.powf(-0.8) };
            level + 0.008 * draw.normal()
        })
    }),
    // a loss that falls, and rises from some epoch on where the learning rate is large; its noise grows with it
    ("adversarial", "val_loss", |c, draw| {
        let (best, floor) = (draw.between(8.0, 28.0), 20.0 * (3.0 * (0.93 - c.quality())).exp());
        draw.curve(|t, draw| {
            let rise = if c.heat() > 0.4 { 0.02 * (t - best).max(0.0) } else { 0.0 };
            floor * (1.0 + 4.0 / t + rise) * (0.05 * draw.normal()).exp()
        })
    }),
    // rewards that rise in two stages, the better networks earlier
    ("stages", "reward", |c, draw| {
        let first = draw.between(1.0, 25.0) / (0.4 + c.quality());
        let second = first + draw.between(3.0, 40.0);
        let stage = |t: f64, start: f64| 1.0 / (1.0 + ((start - t) / 1.5).exp());
        draw.curve(|t, draw| {
            50.0 * stage(t, first) + 150.0 * c.quality() * stage(t, second) + 8.0 * draw.normal()
        })
    }),
    // a loss by a power law whose rate is the learning rate's
    ("rates", "val_loss", |c, draw| {
        let best = -0.5 * (c.learning_rate.log10() + 2.5).powi(2);
        let rate = (0.2 + 0.5 * best.exp() + 0.05 * draw.normal()).max(0.05);
        draw.curve(|t, draw| 1.5 * (1.1 - c.quality()) + 2.3 * t.powf(-rate) + 0.01 * draw.normal())
    }),
    // an accuracy that peaks and declines, the sooner the less dropout
    ("peak", "val_acc", |c, draw| {
        let peak = 5.0 + draw.between(40.0, 90.0) * c.dropout;
        draw.curve(|t, draw| {
            c.quality() - 0.4 / t - 0.15 * (t - peak).max(0.0) / EPOCHS as f64 + 0.006 * draw.normal()
        })
    }),
    // an error that rises for a while and falls again, the later the wider the network
    ("double-descent", "val_error", |c, draw| {
        let (middle, height) = (6.0 + 1.5 * c.width.log2(), 0.2 * (0.6 - c.dropout));
        draw.curve(|t, draw| {
            let bump = height * (-0.5 * ((t - middle) / 4.0).powi(2)).exp();
            1.0 - c.quality() + 0.6 * t.powf(-0.9) + bump + 0.004 * draw.normal()
        })
    }),
    // noise with heavy tails (Student's t with two degrees of freedom)
    ("heavy-tails", "val_acc", |c, draw| {
        draw.curve(|t, draw| {
            let tail = (-(1.0 - draw.between(0.0, 1.0)).ln()).sqrt().max(1e-3);
            c.quality() - 0.4 * t.powf(-0.6) + 0.008 * draw.normal() / tail
        })
    }),
    // a leap late in training, or never, which the dropout decides
    ("grokking", "val_acc", |c, draw| {
        let leap = if c.dropout > 0.2 { 0.35 } else { 0.0 };
        let start = draw.between(25.0, 60.0) - 40.0 * c.dropout;
        draw.curve(|t, draw| {
            let leapt = leap / (1.0 + ((start - t) / 1.2).exp());
            c.quality() - 0.4 - 0.2 / t + leapt + 0.005 * draw.normal()
        })
    }),
];

struct Configuration {
    learning_rate: f64,
    width: f64,
    dropout: f64,
    layers: f64,
    optimizer: &'static str,
    momentum: Option<f64>,
}

impl Configuration {
    fn draw(draw: &mut Draw) -> Self {
        let optimizer = ["sgd", "adam", "rmsprop"][draw.between(0.0, 3.0) as usize];
        Self {
            learning_rate: 10.0_f64.powf(draw.between(-4.0, 0.0)),
            width: draw.between(4.0, 10.0).exp2().round(),
            dropout: draw.between(0.0, 0.6),
            layers: draw.between(1.0, 9.0).floor(),
            optimizer,
            momentum: (optimizer == "sgd").then(|| draw.between(0.0, 0.99)),
        }
    }

    /// The quality that it can reach: best at a learning rate of 0.02, a width of 360, a dropout of 0.25 and 4 layers.
    fn quality(&self) -> f64 {
        let away = |x: f64, weight: f64| weight * x * x;
        0.93 - away(self.learning_rate.log10() + 1.7, 0.06)
            - away(self.width.log2() - 8.5, 0.006)
            - away(self.dropout - 0.25, 0.2)
            - away(self.layers - 4.0, 0.004)
    }

    /// log10 of the learning rate, moved to 0 (for 1e-4) … 1 (for 1).
    fn heat(&self) -> f64 {
        (self.learning_rate.log10() + 4.0) / 4.0
    }
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        radius * self.between(0.0, std::f64::consts::TAU).cos()
    }

    /// The value of each epoch, 1 to [`EPOCHS`].
    fn curve(&mut self, value: impl Fn(f64, &mut Self) -> f64) -> Vec<f64> {
        (1..=EPOCHS).map(|t| value(t as f64, self)).collect()
    }
}

#[allow(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder =
        std::env::args().nth(1).map_or_else(|| PathBuf::from("target/made-up-curves"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    for (number, (name, metric, curve)) in SETS.iter().enumerate() {
        let mut draw = Draw(ChaCha8Rng::seed_from_u64(number as u64));
        let mut text = "learning_rate,width,dropout,layers,optimizer,momentum".to_owned();
        (1..=EPOCHS).try_for_each(|epoch| write!(text, ",{metric}_{epoch}"))?;
        for _ in 0..RUNS {
            let c = Configuration::draw(&mut draw);
            write!(text, "\n{:.5e},{},{:.4},{}", c.learning_rate, c.width, c.dropout, c.layers)?;
            write!(text, ",{},{}", c.optimizer, c.momentum.map_or(String::new(), |m| format!("{m:.4}")))?;
            curve(&c, &mut draw).iter().try_for_each(|value| write!(text, ",{value:.5}"))?;
        }
        let path = folder.join(format!("{name}.csv"));
        std::fs::write(&path, text + "\n")?;
        println!("{}", path.display());
    }
    Ok(())
}
