"""Files that follow from others: CRDs, the single-file install, the page of the chart's values."""
