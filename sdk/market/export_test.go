package market

// SampleNode is a node with its model and a requirement that it satisfies, for tests outside of the package.
var SampleNode = sampleNode
