// SPDX-License-Identifier: BSD-2-Clause

// hot.go - a goroutine, on a stack of its own, that calls into a library.
package main

import (
	"fmt"
	"os"
	"sort"
)

//go:noinline
func hotInner(x uint64) uint64 {
	for i := 0; i < 20000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func hotOuter(x uint64, values []int) uint64 {
	for i := range values {
		x = x*6364136223846793005 + 1442695040888963407
		values[i] = int(x >> 40)
	}
	sort.Sort(sort.IntSlice(values))
	return hotInner(x) + hotInner(x+1) + hotInner(x+2) + uint64(values[0])
}

//go:noinline
func work(done chan uint64) {
	values := make([]int, 2000)
	x := uint64(1)
	for {
		x = hotOuter(x, values)
	}
	done <- x
}

func main() {
	done := make(chan uint64)
	fmt.Printf("ready %d\n", os.Getpid())
	go work(done)
	<-done
}
