//! `foretell data`: fetches data sets for the built-in networks.

use crate::failure::{CommandResult, Failure};
use crate::output::print;
use foretell_nn::{DataFetcher, list_downloads};
use std::io::IsTerminal;
use std::path::PathBuf;

/// The arguments of `foretell data`.
#[derive(clap::Args)]
pub(crate) struct DataArguments {
    #[command(subcommand)]
    action: DataAction,
}

/// The action.
#[derive(clap::Subcommand)]
enum DataAction {
    /// Download a data set: cifar10, mnist, fashion-mnist, svhn, tiny-imagenet, ptb, wikitext-2.
    ///
    /// Requires curl. The checksum of each file is verified. To continue an interrupted download, run the same command again.
    #[command(after_help = crate::examples::FETCH_EXAMPLES)]
    Fetch(FetchArguments),
}

/// The arguments of `foretell data fetch`.
#[derive(clap::Args)]
struct FetchArguments {
    /// Name of the data set.
    name: String,
    /// Parent folder. A folder named after the data set is created in it.
    #[arg(long, value_name = "DIR", default_value = "data")]
    into: PathBuf,
    /// Download from this address instead of the official one. For example, a mirror or file:///media/disk/.
    #[arg(long, value_name = "URL")]
    from: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DataArguments) -> CommandResult {
    let DataAction::Fetch(FetchArguments { name, into, from }) = &arguments.action;
    let known = list_downloads();
    let Some(download) = known.iter().find(|download| download.name == *name) else {
        let known: Vec<_> = known.iter().map(|download| download.name.as_str()).collect();
        let (name, known) = (name.clone(), known.join(", "));
        return Err(Failure::input(foretell_nn::Error::UnknownDownload { name, known }));
    };
    let fetch =
        DataFetcher { into: into.clone(), mirror: from.clone(), progress: std::io::stderr().is_terminal() };
    let folder = fetch.fetch_data_set(download).map_err(Failure::input)?;
    print(&format!(
        "{name} is in {}. Use it with --data {}:{}",
        folder.display(),
        download.kind,
        folder.display()
    ))
}
