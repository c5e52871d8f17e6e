//! `countersign explain`: what would become of one call, stage by stage, and the line of the file that decides.

mod effect;
mod preset;
mod report;
mod show;
mod stages;

pub(crate) use show::caller;

use countersign_core::exact::Exact;

use crate::args::Explain;
use crate::failure::Failure;
use crate::out::{self, Format};
use crate::scene::Scene;

/// Exit code of a call that would not run.
const REFUSED: u8 = 1;

/// Explains one call, or what each rule of a preset matches. Nothing is called and nothing is recorded.
pub(crate) async fn run(flags: Explain, format: Format) -> Result<(), Failure> {
    if let Some(name) = flags.preset {
        return preset::run(flags.whose, &name, format).await;
    }
    let arguments = Exact::object(&flags.args).map_err(|error| {
        Failure::configuration(
            format_args!("--args is not usable: {error}"),
            "give a JSON object: --args '{\"name\": \"value\"}'",
        )
    })?;
    let scene = Scene::open(flags.whose).await?;
    let report = stages::report(&scene, &flags.tool.unwrap_or_default(), arguments);
    scene.close().await;
    let json = serde_json::to_string(&report).map_err(std::io::Error::from)?;
    out::emit(format, &json, || show::report(&report))?;
    if report.runs {
        Ok(())
    } else {
        Err(Failure::Silent(REFUSED))
    }
}
