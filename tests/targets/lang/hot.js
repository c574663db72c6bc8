// SPDX-License-Identifier: BSD-2-Clause
// hot.js - a hot function, compiled by the JIT: main - hotOuter - hotInner.
function hotInner(x) {
  for (let i = 0; i < 20000; i++) x = (x * 1103515245 + 12345) % 2147483648;
  return x;
}
function hotOuter(x) {
  const table = new Map();
  for (let i = 0; i < 50; i++) table.set(i, hotInner(x + i));
  return [...table.values()].sort((a, b) => a - b)[0];
}
function main() {
  let x = 1;
  for (let i = 0; i < 100; i++) x = hotOuter(x);
  console.log(`ready ${process.pid}`);
  for (;;) x = hotOuter(x);
}
main();
