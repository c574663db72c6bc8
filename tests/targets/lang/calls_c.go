// SPDX-License-Identifier: BSD-2-Clause

// calls_c.go - goroutines that call C, on the thread's stack, which calls back to Go, on the goroutine's.
package main

// #include <stdint.h>
// extern uint64_t hotGo(uint64_t);
// static __attribute__((noinline)) uint64_t hot_c(uint64_t x)
// {
//	for (int i = 0; i < 100000; i++)
//		x = x * 6364136223846793005u + 1442695040888963407u;
//	return x;
// }
// static uint64_t both(uint64_t x)
// {
//	return hot_c(x) + hotGo(x);
// }
import "C"

import (
	"fmt"
	"os"
)

//go:noinline
func hotInner(x uint64) uint64 {
	for i := 0; i < 100000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//export hotGo
func hotGo(x C.uint64_t) C.uint64_t {
	return C.uint64_t(hotInner(uint64(x))) + 1
}

//go:noinline
func callC(x uint64) uint64 {
	return uint64(C.both(C.uint64_t(x))) + 1
}

func work(done chan uint64) {
	x := uint64(1)
	for {
		x = callC(x)
	}
	done <- x
}

func main() {
	done := make(chan uint64)
	fmt.Printf("ready %d\n", os.Getpid())
	for i := 0; i < 2; i++ {
		go work(done)
	}
	<-done
}
