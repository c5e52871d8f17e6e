//! Files of the configuration folder into core inputs, with positions, as one snapshot (spec 2.1, 2.2).
//!
//! [`load`] reads the folder once, [`watch()`] follows its edits, [`import()`] turns another
//! client's file into ours. Every complaint is a [`Problem`] that names file, line, column and key.

mod address;
mod bindings;
mod catalogue;
mod environment;
mod expand;
mod fields;
mod folder;
mod gateway;
mod identities;
mod import;
mod jsonc;
mod load;
mod nearest;
mod places;
mod presets;
mod problem;
mod shown;
mod tree;
mod units;
mod watch;
mod workflows;
mod yaml;

pub use environment::{Environment, Variable};
pub use folder::default_dir;
pub use gateway::{Gateway, Limits, Store};
pub use import::{Imported, import};
pub use load::{Config, Folder, Loaded, Loader, load, load_with_places};
pub use places::{At, Places};
pub use problem::{Place, Problem, Problems, Severity};
pub use watch::{follow, watch};
