//! The edge over real sockets and pipes, in front of a real engine and a scripted upstream.

#[cfg(test)]
mod apps;
#[cfg(test)]
mod families;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod identities;
#[cfg(test)]
mod large;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod modern;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod stdio;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod toolsets;
#[cfg(test)]
mod upstream;
