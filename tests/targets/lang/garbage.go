// SPDX-License-Identifier: BSD-2-Clause

// garbage.go - goroutines that make garbage as fast as they can, so that much of the time is spent on the runtime's system
// stacks: allocation, collection, scheduling, growing of stacks.
package main

import (
	"fmt"
	"os"
	"runtime"
)

type node struct {
	left, right *node
	payload     []byte
}

//go:noinline
func makeTree(depth int) *node {
	if depth == 0 {
		return &node{payload: make([]byte, 48)}
	}
	return &node{makeTree(depth - 1), makeTree(depth - 1), make([]byte, 16*depth)}
}

//go:noinline
func countTree(tree *node) int {
	if tree == nil {
		return 0
	}
	return 1 + countTree(tree.left) + countTree(tree.right)
}

// Outgrows the small stack that a goroutine begins with.
//
//go:noinline
func growStack(depth int) int {
	var room [128]byte

	if depth == 0 {
		return len(makeLabels(20))
	}
	room[depth%len(room)] = byte(depth)
	return growStack(depth-1) + int(room[(depth+1)%len(room)])
}

//go:noinline
func makeLabels(count int) map[string]int {
	labels := make(map[string]int)
	for i := 0; i < count; i++ {
		labels[fmt.Sprint("label ", i)] = i
	}
	return labels
}

//go:noinline
func allocate(sums chan int) {
	kept := make([]*node, 8)
	for i := 0; ; i++ {
		kept[i%len(kept)] = makeTree(10)
		sums <- countTree(kept[i%len(kept)])
		go func() { sums <- growStack(200) }()
	}
}

func main() {
	sums := make(chan int, 4)
	runtime.GOMAXPROCS(4)
	fmt.Printf("ready %d\n", os.Getpid())
	for i := 0; i < 6; i++ {
		go allocate(sums)
	}
	total := 0
	for {
		total += <-sums
	}
}
