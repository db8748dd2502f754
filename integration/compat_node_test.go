package integration

import "testing"

// node makes a shell script of a script for node.
func node(script string) string { return "node - <<'END'\n" + script + "\nEND\n" }

const (
	nodeFiles = `
const fs = require("fs"), os = require("os"), path = require("path");
const d = fs.mkdtempSync(path.join(os.tmpdir(), "x-"));
fs.writeFileSync(d + "/f", "data");
fs.cpSync(d, "copy", {recursive: true});
fs.renameSync("copy/f", "copy/g");
fs.symlinkSync("g", "copy/l");
console.log(fs.readdirSync("copy"), fs.realpathSync("copy/l").endsWith("copy/g"));
fs.promises.readFile("README", "utf8").then(s => {
	console.log(s);
	fs.rmSync(d, {recursive: true});
	fs.rmSync("copy", {recursive: true});
	fs.createReadStream("README").pipe(fs.createWriteStream("streamed")).on("finish", () => {
		console.log(os.cpus().length > 0, os.homedir().length > 0, process.getuid() === fs.statSync("streamed").uid);
	});
});`

	nodeWatch = `
const fs = require("fs");
const w = fs.watch(".", (event, name) => {
	if (name !== "seen") return;
	console.log("watched", name);
	w.close();
	fs.unwatchFile("README");
	fs.rmSync("seen");
});
fs.watchFile("README", {interval: 20}, () => {});
setImmediate(() => fs.writeFileSync("seen", "x"));`

	nodeChildren = `
const cp = require("child_process");
console.log(cp.execSync("cat README").toString(), cp.spawnSync("sh", ["-c", "exit 4"]).status);
const group = () => {
	const k = cp.spawn("sleep", ["60"], {detached: true});
	k.on("exit", (code, signal) => console.log(signal));
	k.on("spawn", () => process.kill(-k.pid, "SIGTERM"));
};
cp.exec("echo from shell; exit 2", (e, out) => {
	console.log(out, e.code);
	const f = cp.fork("./child.js");
	f.on("message", m => console.log(m));
	f.on("exit", code => { console.log("exit", code); group(); });
	f.send({n: 1});
});`

	nodeWorker = `
const {Worker} = require("worker_threads");
const shared = new SharedArrayBuffer(4);
const code = 'const {parentPort, workerData} = require("worker_threads");' +
	'Atomics.add(new Int32Array(workerData), 0, 5); parentPort.postMessage("hello")';
const w = new Worker(code, {eval: true, workerData: shared});
w.on("message", m => console.log(m));
w.on("exit", code => console.log(code, new Int32Array(shared)[0]));`

	nodeModules = `
const zlib = require("zlib"), crypto = require("crypto");
console.log(zlib.gunzipSync(zlib.gzipSync("zip")).toString(), crypto.createHash("sha1").update("x").digest("hex"));
crypto.pbkdf2("a", "b", 10, 8, "sha1", (e, key) => console.log(key.toString("hex")));
const k = crypto.generateKeyPairSync("ed25519"), m = Buffer.from("m");
console.log(crypto.verify(null, m, k.publicKey, crypto.sign(null, m, k.privateKey)));
console.log(new Date(0).toString());
console.log(new Intl.DateTimeFormat("de-DE", {timeZone: "Asia/Tokyo", dateStyle: "full"}).format(0));
console.log(new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module);`
)

func TestCompatNode(t *testing.T) {
	const child = `echo 'process.on("message", m => { process.send({got: m}); process.disconnect() })' >child.js
		`
	cases := []compatCase{
		{name: "files", script: node(nodeFiles)},
		{name: "fs.watch", script: node(nodeWatch)},
		{name: "child processes", script: child + node(nodeChildren)},
		{name: "worker threads", script: node(nodeWorker)},
		{name: "modules", script: `echo 'export const x = 5' >m.mjs
			echo 'import {x} from "./m.mjs"; console.log(await x, process.env.HOME !== undefined)' >n.mjs
			node n.mjs
			` + node(nodeModules)},
		{name: "test runner", script: `echo 'const t=require("node:test"), a=require("assert");' >x.test.js
			echo 't("one", () => a.ok(1)); t("two", async () => a.ok(await 1))' >>x.test.js
			node --test 2>&1 | grep -E '(pass|fail) [0-9]'`},
		{
			name: "interfaces with the host's network", flags: []string{"--net", "host"},
			script: `node -p 'Object.keys(require("os").networkInterfaces()).length > 0'`,
		},
		{
			name:    "interfaces are refused without network",
			script:  node(`try { require("os").networkInterfaces(); console.log("listed") } catch (e) { console.log(e.code) }`),
			refused: `ERR_SYSTEM_ERROR\n`,
		},
	}
	for i := range cases {
		cases[i].needs = []string{"node"}
	}
	runCompat(t, cases)
}

func TestCompatNpm(t *testing.T) {
	byOneUser(t)
	const manifest = `cat >package.json <<'END'
{"name": "demo", "version": "1.0.0", "private": true, "scripts": {
 "pretest": "echo pre", "test": "node test.js",
 "build": "node -e \"require('fs').writeFileSync('built','ok')\"", "env": "sh -c 'echo $npm_lifecycle_event'"}}
END
echo 'require("assert")(1); console.log("tested", process.env.npm_package_name)' >test.js
`
	const dependency = manifest + `mkdir -p libs/dep
echo '{"name": "dep", "version": "1.0.0", "main": "i.js", "bin": "i.js"}' >libs/dep/package.json
printf '#!/usr/bin/env node\nmodule.exports=1; console.log("dep")\n' >libs/dep/i.js
`
	cases := []compatCase{
		{name: "init", script: `npm init -y >/dev/null; grep '"name"' package.json
			npm pkg set scripts.hello='echo hello'; npm run -s hello; npm pkg get name`},
		{name: "test", setup: manifest, script: `npm test; npm run build --silent; cat built; npm run env -s; npm run`},
		{name: "exec", setup: manifest, noisy: true, script: `npm exec -c 'echo in npm exec'; npm ls; npm root >/dev/null
			npm version --no-git-tag-version 1.0.1; npm pack --silent; tar tzf demo-1.0.1.tgz | sort; rm demo-1.0.1.tgz`},
		{
			name: "empty lock file", setup: manifest + `npm install --package-lock-only --offline --silent`,
			script: `npm ci --offline --no-audit --no-fund >/dev/null; npm ci --silent; ls; echo done`,
		},
		{name: "local dependency", setup: dependency, script: `i='npm install --offline --no-audit --no-fund --silent'
			$i ./libs/dep; node -e 'require("dep")'; npx --no-install dep; readlink node_modules/dep
			npm uninstall --offline --silent dep; $i --install-links ./libs/dep; test ! -h node_modules/dep
			node_modules/.bin/dep; npm ci --offline --silent --install-links; ls -A node_modules | sort`},
	}
	for i := range cases {
		cases[i].needs = []string{"node", "npm"}
	}
	runCompat(t, cases)
}
