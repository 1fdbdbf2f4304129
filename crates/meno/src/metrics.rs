//! How good a tagger is, counted as conlleval and seqeval count.
