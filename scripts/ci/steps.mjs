import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readmeCommands } from './readme.mjs'

/**
 * What the checks run: stages one after another, each of lanes side by side, each of steps in order. A stage of one lane
 * uses all processors by itself. The README's test command comes first among those that need packages: it is the one that
 * must do with a fresh clone.
 * @param {string} root
 * @returns {import('./step.mjs').Step[][][]}
 */
export function plannedStages(root) {
  const { test } = readmeCommands(readFileSync(join(root, 'README.md'), 'utf8'))
  /** @type {import('./step.mjs').Step} */
  const readme = { name: 'README commands', command: ['node', 'scripts/ci/check-readme.mjs'], minutes: 8 }
  return [
    [
      // The quick tests need none of the tools.
      [{ name: 'README test command', command: ['bash', '-c', test], minutes: 15 }],
      [{ name: 'tools', command: ['bash', 'scripts/ci/install-tools.sh'], minutes: 8 }],
    ],
    [
      [
        { name: 'slow tests', command: ['npm', 'run', '--silent', 'test:slow'], minutes: 25 },
        { name: 'tests in a browser', command: ['npm', 'run', '--silent', 'test:browser'], minutes: 15 },
        { name: 'tests on MongoDB', command: ['npm', 'run', '--silent', 'test:mongodb'], minutes: 25 },
      ],
    ],
    [
      // Finds the mistakes in types that the build of a test command does not look for.
      [{ name: 'types and build from clean', command: ['node', 'scripts/ci/build-from-clean.mjs'], minutes: 12 }],
      // Neither reads what is built meanwhile.
      [
        { name: 'lint', command: ['npm', 'run', '--silent', 'lint'], minutes: 4 },
        { name: 'image without an engine', command: ['node', 'scripts/ci/check-image.mjs'], minutes: 10 },
      ],
    ],
    [
      [readme, onMongodb(readme)],
      [
        ...examples(root),
        ...examples(root)
          .filter(({ name }) => ON_MONGODB.includes(name))
          .map(onMongodb),
        ...onNode24(root),
        { name: 'oldest LangChain', command: ['node', 'scripts/ci/on-oldest-langchain.mjs'], minutes: 5 },
        {
          name: 'chart, compose files and workflows',
          command: ['node', 'scripts/ci/check-deployment.mjs'],
          minutes: 8,
        },
        { name: 'generators of clients', command: ['node', 'scripts/ci/check-generators.mjs'], minutes: 5 },
        { name: 'alerts', command: ['node', 'scripts/ci/check-alerts.mjs'], minutes: 2 },
        { name: 'packages by name', command: ['node', 'scripts/ci/check-by-name.mjs'], minutes: 10 },
        { name: 'unused code', command: ['npm', 'run', '--silent', 'knip'], minutes: 4 },
        ...generators(root),
      ],
    ],
  ]
}

/**
 * @param {string} root
 * @returns {import('./step.mjs').Step[]}
 */
function generators(root) {
  return readdirSync(join(root, 'scripts'))
    .filter((name) => name.startsWith('generate-') && name.endsWith('.mjs'))
    .map((name) => ({ name: `generated: ${name}`, command: ['node', `scripts/${name}`, '--check'], minutes: 4 }))
}

/**
 * @param {string} root
 * @returns {import('./step.mjs').Step[]}
 */
function examples(root) {
  const folder = join(root, 'examples')
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => existsSync(join(folder, name, 'package.json')))
    .map((name) => ({
      name: `example ${name}`,
      command: ['npm', 'start', '--silent', '--workspace', `examples/${name}`],
      minutes: 6,
    }))
}

/** What these do depends on the store: the other examples show how a framework is guarded. */
const ON_MONGODB = ['example budget', 'example quickstart', 'example review']

/**
 * A smoke on the newest Node that is tested: what has native code or asks Node for more than others do, and a whole server. The
 * workflow runs all checks on each of them.
 * @param {string} root
 * @returns {import('./step.mjs').Step[]}
 */
function onNode24(root) {
  const paths = ['packages/client', 'packages/permit', 'server/test/stores/sqlite']
  /** @type {import('./step.mjs').Step} */
  const tests = { name: 'tests', command: ['env', 'TIER=quick', 'npx', 'vitest', 'run', ...paths], minutes: 6 }
  return [tests, ...examples(root).filter(({ name }) => name === 'example quickstart')].map(
    ({ name, command, minutes }) => ({
      name: `${name} on Node 24`,
      command: ['node', 'scripts/ci/on-node.mjs', '24', ...command],
      minutes,
    }),
  )
}

/**
 * The step once more with `MONGODB_URL`.
 * @param {import('./step.mjs').Step} step
 * @returns {import('./step.mjs').Step}
 */
function onMongodb({ name, command, minutes }) {
  return { name: `${name} on MongoDB`, command: ['node', 'scripts/ci/on-mongodb.mjs', ...command], minutes }
}
