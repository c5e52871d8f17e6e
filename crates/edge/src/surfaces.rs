//! Which surfaces a request sees: the configured ones, or those that its header names.

use countersign_core::surface::Surface;

/// The surfaces in force for one request; at least one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Surfaces {
    pub(crate) meta: bool,
    pub(crate) direct: bool,
}

impl Surfaces {
    /// Joins some surfaces. None at all gives the smallest one.
    pub(crate) fn of(surfaces: &[Surface]) -> Self {
        let direct = surfaces.contains(&Surface::Direct);
        Self {
            meta: surfaces.contains(&Surface::Meta) || !direct,
            direct,
        }
    }

    /// Reads `X-Countersign-Surface`: one name, or several with commas between them.
    pub(crate) fn parse(header: &str) -> Result<Self, String> {
        let mut named = Vec::new();
        for name in header.split(',').map(str::trim) {
            let surface = Surface::parse(name).ok_or_else(|| {
                format!("surface `{name}` of header X-Countersign-Surface is unknown: use `meta`, `direct` or both")
            })?;
            named.push(surface);
        }
        Ok(Self::of(&named))
    }

    /// `instructions` of `initialize` and `server/discover`: how to begin on these surfaces.
    pub(crate) fn instructions(self) -> &'static str {
        match (self.meta, self.direct) {
            (true, true) => {
                "Countersign is one endpoint in front of several MCP servers. Their tools are listed here as \
                 x_<server>_<tool>; filter_tools finds one by its purpose, describe_tool shows its schema and \
                 call_tool calls it."
            }
            (false, true) => {
                "Countersign is one endpoint in front of several MCP servers. Their tools are listed here as \
                 x_<server>_<tool> and are called by that name; core_server_list shows which servers are up."
            }
            (true, false) | (false, false) => {
                "Countersign is one endpoint in front of several MCP servers. Find a tool with filter_tools \
                 (give `query` in your own words) or list_tools, read its schema with describe_tool, then call it \
                 with call_tool, or directly by its name. list_resources and list_prompts work likewise."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Surfaces;

    #[test]
    fn header_names_one_surface_or_several() {
        assert_eq!(
            Surfaces::parse("direct"),
            Ok(Surfaces {
                meta: false,
                direct: true
            })
        );
        assert_eq!(
            Surfaces::parse("meta"),
            Ok(Surfaces {
                meta: true,
                direct: false
            })
        );
        assert_eq!(
            Surfaces::parse("meta, direct"),
            Ok(Surfaces {
                meta: true,
                direct: true
            })
        );
    }

    #[test]
    fn unknown_surface_is_named_with_the_valid_ones() {
        for wrong in ["", "all", "Direct", "code", "meta,,direct"] {
            let error = Surfaces::parse(wrong).expect_err("must be refused");
            assert!(error.contains("`meta`") && error.contains("`direct`"), "{error}");
        }
    }

    #[test]
    fn no_surface_at_all_gives_the_smallest() {
        assert_eq!(
            Surfaces::of(&[]),
            Surfaces {
                meta: true,
                direct: false
            }
        );
    }
}
