/** The workflows of GitHub beside what they run. */
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { lastOf, stagesOf } from './ci/dockerfile.mjs'
import { plannedStages } from './ci/steps.mjs'
import { publishedNames } from './pack.mjs'
import { ROOT, readText, repositoryFiles } from './repository-files.js'

const WORKFLOW = readText('.github/workflows/ci.yml')
const numberIn = (text: string, form: RegExp) => Number(form.exec(text)?.[1])

it('the workflow gives the checks more time than they take at most', () => {
  const checks = numberIn(readText('scripts/ci/run.mjs'), /TOTAL_MINUTES = (\d+)/)
  const job = WORKFLOW.slice(WORKFLOW.indexOf('\n  run:'), WORKFLOW.indexOf('bash .ci/run'))
  expect(numberIn(job, /timeout-minutes: (\d+)/)).toBeGreaterThan(checks + 5)
  expect(numberIn(job, /stops itself after (\d+) minutes/)).toBe(checks)
})

it('the workflow runs the checks on the oldest Node that packages take, and on each newer one that is tested', () => {
  const { engines } = JSON.parse(readText('package.json')) as { engines: { node: string } }
  const versions = /node: \[(.*)\]/.exec(WORKFLOW)?.[1]?.split(', ').map(Number)
  expect(versions).toEqual([numberIn(engines.node, /^>=(\d+)/), 22, 24])
  expect(readText('README.md')).toContain(`tested on ${versions?.join(', ').replace(/, (?=\d+$)/, ' and ')})`)
  expect(WORKFLOW.match(/bash \.ci\/run/g)).toHaveLength(1)
  expect(WORKFLOW).toContain('node-version: ${' + '{ matrix.node }}')
})

it('the checks themselves run a part on the newest Node, with the oldest LangChain, and with generators of clients', () => {
  const newest = numberIn(WORKFLOW, /node: \[.*, (\d+)\]/)
  const commands = plannedStages(ROOT)
    .flat(2)
    .map(({ command }) => command.join(' '))
  for (const part of [`on-node.mjs ${newest} `, 'on-oldest-langchain.mjs', 'check-generators.mjs', 'check-by-name.mjs'])
    expect(commands).toContainEqual(expect.stringContaining(part))
})

it('the image has a Node that the checks run on, of an exact version', () => {
  const stages = readText('Dockerfile').match(/^FROM .*$/gm) ?? []
  const versions = stages.map((line) => /node:(\d+\.\d+\.\d+)-/.exec(line)?.[1])
  const tested = [...readText('scripts/ci/on-node.mjs').matchAll(/'(\d+\.\d+\.\d+)'/g)].map(([, version]) => version)
  expect(versions).toHaveLength(2)
  expect(new Set(versions).size).toBe(1)
  expect(tested).toContain(versions[0])
})

it('the image is built for the processors that its script knows, and its user is a number', () => {
  const known = [...readText('scripts/docker-build.sh').matchAll(/^ {2}(\w+)\) cpu=/gm)].map(
    ([, name]) => `linux/${name}`,
  )
  expect(readText('.github/workflows/image.yml')).toContain(`platforms: ${known.join(',')}\n`)
  expect(lastOf(stagesOf(readText('Dockerfile')).at(-1)!, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
})

it('the image is built once, and this build is scanned for each processor, signed and tagged', () => {
  const text = readText('.github/workflows/image.yml')
  const { build, scan, publish } = parse(text).jobs
  const digest = '${' + '{ needs.build.outputs.digest }}'
  expect(text.match(/docker\/build-push-action@/g)).toHaveLength(1)
  const built = build.steps.find(({ id }: { id?: string }) => id === 'image').with
  expect(built.outputs).toContain('push-by-digest=true')
  expect(scan.strategy.matrix.platform.join(',')).toBe(built.platforms)
  expect(scan.steps.at(-1)).toMatchObject({
    env: { GRYPE_PLATFORM: '${' + '{ matrix.platform }}' },
    with: { image: `\${{ env.IMAGE }}@${digest}` },
  })
  expect(publish.needs).toEqual(['build', 'scan'])
  const image = publish.steps.find(({ run }: { run?: string }) => run?.includes('cosign sign --yes --recursive'))
  expect(image.env.DIGEST).toBe(digest)
  expect(image.run.match(/\$IMAGE\S*/g)).toEqual(['$IMAGE@$DIGEST"', '$IMAGE@$DIGEST"'])
})

describe('every workflow', () => {
  interface Step {
    uses?: string
    run?: string
    with?: Record<string, unknown>
  }
  interface Workflow {
    on: Record<string, unknown>
    permissions?: unknown
    jobs: Record<string, { permissions?: Record<string, string>; 'timeout-minutes'?: number; steps: Step[] }>
  }
  const paths = repositoryFiles.filter((path) => /^\.github\/workflows\/.*\.ya?ml$/.test(path))
  const workflows = paths.map((path) => ({ path, text: readText(path), ...(parse(readText(path)) as Workflow) }))
  const jobs = workflows.flatMap(({ path, jobs: all }) =>
    Object.entries(all).map(([name, job]) => ({ at: `${path}: ${name}`, ...job })),
  )
  const steps = jobs.flatMap(({ at, steps: all }) => all.map((step) => ({ at, ...step })))

  it('names the actions of others by commit, with the version beside it', () => {
    const uses = workflows.flatMap(({ text }) => text.match(/^.*\buses: .*$/gm) ?? [])
    expect(uses.length).toBeGreaterThan(15)
    expect(uses.filter((line) => !/uses: [\w.-]+(?:\/[\w.-]+)+@[0-9a-f]{40} # v\d+(?:\.\d+)*$/.test(line))).toEqual([])
  })

  it('uses one commit for each action', () => {
    const commits = steps.flatMap(({ uses }) => (uses ? [uses.replace(/^([\w-]+\/[\w-]+)[^@]*@/, '$1@')] : []))
    const actions = [...new Set(commits)].map((text) => text.split('@')[0])
    expect(actions).toEqual([...new Set(actions)])
  })

  it('may read the code alone, and write only what its job names', () => {
    expect(workflows.filter(({ permissions }) => JSON.stringify(permissions) !== '{"contents":"read"}')).toEqual([])
    const writers = jobs.filter(({ permissions }) => Object.values(permissions ?? {}).includes('write'))
    const without = writers.filter(({ permissions }) => permissions?.contents === undefined)
    expect(without.map(({ at }) => at)).toEqual([])
    expect(writers.map(({ at }) => at)).toEqual(
      expect.arrayContaining(['.github/workflows/image.yml: publish', '.github/workflows/codeql.yml: analyze']),
    )
  })

  it('has a time limit for each job, and leaves no token in the checkout', () => {
    expect(jobs.filter((job) => job['timeout-minutes'] === undefined)).toEqual([])
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    expect(checkouts.length).toBeGreaterThan(5)
    expect(checkouts.filter((step) => step.with?.['persist-credentials'] !== false)).toEqual([])
  })

  it('runs no code of a pull request with secrets, and puts no text of others into a command', () => {
    expect(workflows.filter(({ on }) => 'pull_request_target' in on || 'workflow_run' in on)).toEqual([])
    expect(steps.filter(({ run }) => run?.includes('${' + '{'))).toEqual([])
  })
})

describe('the workflow of the release', () => {
  const release = readText('.github/workflows/release.yml')
  const job = (name: string) => release.split(/^ {2}(?=\w+:$)/m).find((part) => part.startsWith(`${name}:`)) ?? ''
  const granted = (name: string) => /permissions:\n((?: {6}.+\n)+)/.exec(job(name))?.[1]?.trim().split(/\n */)

  it('publishes by the trust of npm: it has no secret but the one that GitHub gives each run', () => {
    expect(new Set(release.match(/secrets\.\w+/g))).toEqual(new Set(['secrets.GITHUB_TOKEN']))
    expect(release).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/)
    expect(granted('publish')).toEqual(['actions: write', 'contents: write', 'id-token: write'])
    expect(job('publish')).toContain('environment: npm')
    // Node 24 brings npm 11.
    expect(numberIn(job('publish'), /node-version: (\d+)/)).toBeGreaterThanOrEqual(24)
  })

  it('gives each job no more than it needs, and code of others no right to publish', () => {
    expect(granted('version')).toEqual(['contents: write', 'pull-requests: write'])
    const actions = [...job('publish').matchAll(/uses: ([\w/-]+)@/g)].map(([, action]) => action)
    expect(actions).toEqual(['actions/checkout', 'actions/setup-node'])
    expect(release).not.toContain('pull_request')
    expect(release.match(/npm ci.*/g)).toEqual(['npm ci --ignore-scripts', 'npm ci --ignore-scripts'])
  })

  it('runs scripts that are there, and releases all packages together', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }
    const named = [...release.matchAll(/npm run ([\w-]+)/g)].map(([, name = '']) => name)
    expect(named).toEqual(['version-packages', 'build'])
    for (const name of named) expect(scripts).toHaveProperty([name])
    const { fixed, access } = JSON.parse(readText('.changeset/config.json')) as { fixed: string[][]; access: string }
    expect(fixed).toEqual([['@countersign/*', 'countersign', 'countersign-mcp']])
    expect(access).toBe('public')
  })

  it('is trusted for each published package by the commands of CONTRIBUTING.md', () => {
    const [, unscoped = '', scope = '', scoped = ''] =
      /^for name in (.*) (@\w+\/)\{(.*)\}; do$/m.exec(readText('CONTRIBUTING.md')) ?? []
    const named = [...unscoped.split(' '), ...scoped.split(',').map((name) => `${scope}${name}`)]
    expect(named.toSorted()).toEqual(publishedNames().toSorted())
  })
})
