"""The roofline model: benchmarks in; each placed, bounded, flagged and judged, out."""
