"""What the tab is answered: the store of spans, its pages, the wire types and their TypeScript."""
