//! The layer space against the paper's rules and its released networks.

use super::{LayerSpace, PoolingSize, State, Trajectory};
use foretell::{Layer, LayerSequence};
use foretell_search::trial_stream;
use proptest::prelude::*;

fn layer(text: &str) -> Layer {
    let network = if text.starts_with("SM") { format!("[{text}]") } else { format!("[{text}, SM(1)]") };
    network.parse::<LayerSequence>().unwrap().0[0]
}

fn state(last: &str, depth: usize, fully_connected: usize, size: usize) -> State {
    let last = if last == "start" { None } else { Some(layer(last)) };
    State { last, depth, fully_connected, size }
}

/// Actions by kind: convolution kernels, pool kernels, fully connected sizes, whether GAP and SM.
fn kinds(space: &LayerSpace, state: &State) -> (Vec<usize>, Vec<usize>, Vec<usize>, bool, bool) {
    let mut kinds = (vec![], vec![], vec![], false, false);
    for action in space.actions_after(state) {
        match action {
            Layer::Convolution { kernel, filters: 64, stride: 1 } => kinds.0.push(kernel),
            Layer::Convolution { .. } => {}
            Layer::Pooling { kernel, .. } => kinds.1.push(kernel),
            Layer::FullyConnected { units } => kinds.2.push(units),
            Layer::GlobalAveragePooling { .. } => kinds.3 = true,
            Layer::Softmax { .. } => kinds.4 = true,
            Layer::Dropout { .. } => panic!("dropout is no action"),
        }
    }
    kinds
}

#[test]
fn what_may_follow_is_as_in_the_paper() {
    let space = LayerSpace::default();
    let all = vec![512, 256, 128];
    let rows = [
        //  last          depth FC size   kernels       pools         FC              GAP   SM
        (("start", 0, 0, 32), (vec![1, 3, 5], vec![], vec![], true, true)),
        (("C(64,3,1)", 1, 0, 32), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
        (("C(64,3,1)", 1, 0, 8), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
        (("C(64,3,1)", 3, 0, 7), (vec![1, 3], vec![3, 2], all.clone(), true, true)),
        (("C(64,3,1)", 3, 0, 4), (vec![1, 3], vec![3, 2], all.clone(), true, true)),
        (("C(64,3,1)", 3, 0, 3), (vec![], vec![], all.clone(), true, true)),
        (("P(2,2)", 3, 0, 16), (vec![1, 3, 5], vec![], vec![], true, true)), // no pooling after pooling
        (("P(2,2)", 3, 0, 5), (vec![1, 3], vec![], all, true, true)),
        (("FC(256)", 3, 1, 1), (vec![], vec![], vec![256, 128], false, true)), // sizes do not grow
        (("FC(256)", 3, 2, 1), (vec![], vec![], vec![], false, true)),         // two at most
        (("GAP(10)", 3, 0, 1), (vec![], vec![], vec![], false, true)),
        (("C(64,3,1)", 18, 0, 32), (vec![], vec![], vec![], false, true)), // depth limit
        (("C(64,3,1)", 17, 0, 32), (vec![1, 3, 5], vec![5, 3, 2], vec![], true, true)),
        (("SM(10)", 3, 0, 1), (vec![], vec![], vec![], false, false)),
    ];
    for ((last, depth, fully_connected, size), expected) in rows {
        let state = state(last, depth, fully_connected, size);
        assert_eq!(kinds(&space, &state), expected, "{}", space.state_key(&state));
    }
    assert_eq!(space.actions_after(&space.start_state()).len(), 14, "4·3 convolutions, GAP, SM");
}

#[test]
fn the_true_size_is_tracked_through_poolings() {
    let space = LayerSpace::default();
    //   side, kernel, stride, ⌈(s − f + 1)/stride⌉
    for (size, pool, expected) in
        [(32, "P(5,3)", 10), (32, "P(3,2)", 15), (32, "P(2,2)", 16), (7, "P(3,2)", 3), (5, "P(2,2)", 2)]
    {
        let before = state("C(64,1,1)", 1, 0, size);
        assert_eq!(space.state_after(&before, layer(pool)).unwrap().size, expected, "{pool}");
    }
    let before = state("C(64,1,1)", 1, 0, 7);
    let error = space.state_after(&before, layer("P(5,3)")).unwrap_err().to_string();
    assert!(error.contains("layer 2, P(5,3), cannot follow state 1:C(64,1,1)@4"), "{error}");
}

#[test]
fn keys_trajectories_and_spaces_are_written_as_text() {
    let space = LayerSpace::default();
    for (state, key) in [
        (space.start_state(), "0:start@8"),
        (state("C(64,3,1)", 3, 0, 7), "3:C(64,3,1)@4"),
        (state("FC(128)", 7, 2, 1), "7:FC(128)#2@1"),
    ] {
        assert_eq!(space.state_key(&state).to_string(), key);
    }
    let trajectory: Trajectory = "[C(64,3,1), D(1,1), SM(10)]".parse().unwrap();
    let json = serde_json::to_string(&trajectory).unwrap();
    assert_eq!(json, r#""[C(64,3,1), SM(10)]""#);
    let space: LayerSpace = serde_json::from_str(r#"{"max_depth":12}"#).unwrap();
    assert_eq!(space, LayerSpace { max_depth: 12, ..LayerSpace::default() });
}

#[test]
fn scaling_rounds_and_merges() {
    let space = LayerSpace::default();
    let narrow = space.scale_sizes(1.0 / 16.0).unwrap();
    assert_eq!((narrow.filters, narrow.fully_connected), (vec![4, 8, 16, 32], vec![32, 16, 8]));
    let least = space.scale_sizes(1e-9).unwrap();
    assert_eq!((least.filters, least.fully_connected), (vec![1], vec![1]));
    assert_eq!(space.scale_sizes(1.0).unwrap(), space);
    let unsorted = LayerSpace { filters: vec![10, 20, 11], ..LayerSpace::default() };
    assert_eq!(unsorted.scale_sizes(0.1).unwrap().filters, [1, 2]);
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e5] {
        assert!(space.scale_sizes(factor).is_err(), "{factor}");
    }
}

#[test]
fn descriptions_that_cannot_work_are_refused() {
    let space = LayerSpace::default();
    let pool = PoolingSize { kernel: 2, stride: 2 };
    let rows = [
        (LayerSpace { filters: vec![64, 0], ..space.clone() }, "filters = 0"),
        (LayerSpace { kernels: vec![3, 3], ..space.clone() }, "kernels = [3, 3] lists a size twice"),
        (LayerSpace { pools: vec![PoolingSize { stride: 0, ..pool }], ..space.clone() }, "pools"),
        (LayerSpace { pools: vec![pool, pool], ..space.clone() }, "pools"),
        (LayerSpace { buckets: vec![8, 4], ..space.clone() }, "buckets = [8, 4] must fall and end with 1"),
        (LayerSpace { buckets: vec![4, 8, 1], ..space.clone() }, "buckets"),
        (LayerSpace { buckets: vec![], ..space.clone() }, "buckets"),
        (LayerSpace { classes: 0, ..space.clone() }, "classes = 0"),
        (LayerSpace { max_depth: 100_000, ..space }, "max_depth"),
    ];
    for (space, expected) in rows {
        let error = space.validate().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(LayerSpace::default().validate(), Ok(()));
}

#[test]
fn the_minimum_depth_is_kept_and_zero_is_the_papers_walk() {
    let space = LayerSpace::default();
    let mut shallow = 0;
    for trial in 0..2000 {
        let bare = space.sample_network(0, &mut trial_stream(5, trial));
        shallow += usize::from(bare.layers().len() == 1);
        // from two layers the default space always leads on: its first pooling leaves at least 10 pixels
        let deep = space.sample_network(2, &mut trial_stream(5, trial));
        assert!(deep.layers().len() > 2, "{deep}");
    }
    // the softmax is 1 of 14 first draws: binomial(2000, 1/14), mean 143, standard deviation 11.5
    assert!((85..=201).contains(&shallow), "{shallow}");
}

proptest! {
    #[test]
    fn every_drawn_network_can_be_built_and_read_back(
        seed in any::<u64>(), (height, width) in (1_usize..70, 1_usize..70), depth in 0_usize..25,
        minimum in 0_usize..6, factor in 0.01..2.0_f64, first in 2_usize..12,
    ) {
        let buckets = if first > 4 { vec![first, 4, 1] } else { vec![first, 1] };
        let space = LayerSpace { height, width, max_depth: depth, buckets, ..LayerSpace::default() };
        let space = space.scale_sizes(factor).unwrap();
        let trajectory = space.sample_network(minimum, &mut trial_stream(seed, 0));
        let network = trajectory.to_network();
        let counts = network.network_counts(space.image_shape()).unwrap();
        prop_assert_eq!(counts.layers, trajectory.layers().len());
        prop_assert!(counts.layers <= depth + 1);
        prop_assert_eq!(network.to_string().parse::<Trajectory>().unwrap(), trajectory.clone());
        prop_assert!(space.states_along(&trajectory).is_ok());
    }
}

/// The released networks; none skip the test.
fn released_networks() -> Vec<String> {
    let Some(path) = crate::needed::recorded("curves/paper/metaqnn_cifar10.csv") else { return Vec::new() };
    let text = std::fs::read_to_string(path).expect("it is readable");
    let quoted = text.lines().skip(1).filter_map(|line| line.strip_prefix('"')?.split_once('"'));
    quoted.map(|(network, _)| network.to_owned()).collect()
}

#[test]
fn released_networks_have_our_dropout_and_lie_in_our_space() {
    let released = released_networks();
    if released.is_empty() {
        return;
    }
    let space = LayerSpace::default();
    let (mut unlike, mut outside) = (Vec::new(), Vec::new());
    for text in &released {
        let trajectory: Trajectory = text.parse().unwrap();
        if trajectory.to_network().to_string() != *text {
            unlike.push(format!("{text}: ours {}", trajectory.to_network()));
        }
        if let Err(error) = space.states_along(&trajectory) {
            outside.push(format!("{text}: {error}"));
        }
    }
    assert_eq!(released.len(), 1000);
    assert!(unlike.is_empty(), "{} of 1000 differ, first: {}", unlike.len(), unlike[0]);
    assert!(outside.is_empty(), "{} of 1000 lie outside, first: {}", outside.len(), outside[0]);
}
