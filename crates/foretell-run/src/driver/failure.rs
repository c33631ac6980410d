//! What the end of a training's process means for its trial.

use foretell_search::{Ending, Session, Store, Trial};

use crate::message::Status;

/// How the training of `trial` ended.
pub(super) fn ending<S: Store>(
    session: &Session<S>,
    trial: u64,
    status: Status,
    tail: &[String],
    expected_report: &str,
) -> Ending {
    let study = session.study();
    let silent = !study.trial(trial).is_some_and(Trial::has_reported);
    let last = study.spec().max_resource;
    let until = study.trial(trial).map_or(last, |trial| trial.until);
    let what = match (status, session.overran(trial)) {
        // a training that overran was ended by us, and not because anything went wrong
        (_, Some(_)) | (Status::Exited(0), _) if !silent => return Ending::Finished,
        (_, Some(step)) => format!(
            "its first report is of step {step}, beyond the {last} epochs of a whole training, and it was ended: raise `epochs` to the steps of a whole training, or let it report epochs"
        ),
        (Status::Exited(0), None) => {
            let pause = if until < last {
                format!(" (it was to pause after epoch {until}, and must have reported until then)")
            } else {
                String::new()
            };
            format!("ended without a report{pause}: {expected_report}")
        }
        (Status::Exited(code), None) => format!("exit code {code}"),
        (Status::Signalled(signal), None) => format!("ended by signal {signal}"),
        (Status::Unknown, None) => "ended in an unknown way".to_owned(),
    };
    Ending::Failed(said_at_the_end(&what, tail))
}

/// What went wrong, and the last that the training said.
pub(crate) fn said_at_the_end(what: &str, tail: &[String]) -> String {
    if tail.is_empty() { what.to_owned() } else { format!("{what}; it last said:\n  {}", tail.join("\n  ")) }
}
