// SPDX-License-Identifier: BSD-2-Clause
// Hot.java - a hot method, compiled by the JIT, in a thread: run - hotOuter - hotInner.
import java.util.Arrays;

public class Hot {
	static long hotInner(long x) {
		for (int i = 0; i < 20000; i++)
			x = x * 6364136223846793005L + 1442695040888963407L;
		return x;
	}

	static long hotOuter(long x) {
		Long[] values = new Long[500];

		for (int i = 0; i < values.length; i++)
			values[i] = (x ^ i) % 777;
		Arrays.sort(values, (a, b) -> Long.compare(b, a));
		return hotInner(x) + values[0];
	}

	public static void main(String[] arguments) {
		long x = 1;

		for (int i = 0; i < 5000; i++)
			x = hotOuter(x);
		System.out.println("ready " + ProcessHandle.current().pid());
		System.out.flush();
		for (;;)
			x = hotOuter(x);
	}
}
