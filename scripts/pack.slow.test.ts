/** What `npm run pack` writes: installed as the guides say, in a clean folder, and used as each README says. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { outerImports } from '@countersign/testkit'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asScript, commandBlocks, differencesFrom, outputsOf } from './ci/readme.mjs'
import { installIn, serveIn } from './clean-project.js'
import { workspaces } from './freshness.mjs'
import { type Packed, packPackages, packShortNames } from './pack.mjs'
import { readText } from './repository-files.js'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Manifest {
  name: string
  version: string
  description: string
  license: string
  private?: boolean
  engines?: { node: string }
  bin?: Record<string, string>
  exports?: object
  homepage?: string
  repository?: { url: string; directory?: string }
  keywords?: string[]
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}
const manifestOf = (folder: string) => JSON.parse(readText(join(folder, 'package.json'))) as Manifest
const published = workspaces(ROOT)
  .map((folder) => ({ folder, manifest: manifestOf(folder) }))
  .filter(({ manifest }) => !manifest.private)
const cases = published.map((one) => [one.manifest.name, one] as const)

const packedAs = (name: string) => [...packed, ...shortNames].find((one) => one.name === name)
const tarballOf = (name: string) => packedAs(name)?.tarball ?? ''

const temporary = mkdtempSync(join(tmpdir(), 'countersign-pack-'))
const tarballs = join(temporary, 'tarballs')
const project = join(temporary, 'app')
let packed: Packed[]
let shortNames: Packed[]

beforeAll(() => {
  mkdirSync(tarballs)
  for (const name of ['countersign-client-0.0.1.tgz', 'backup.tgz']) writeFileSync(join(tarballs, name), '')
  packed = packPackages(tarballs)
  shortNames = packShortNames(join(temporary, 'short-names'))
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

describe('every published package', () => {
  it('is packed, and nothing else is', () => {
    const names = published.map(({ manifest }) => manifest.name)
    expect(packed.map(({ name }) => name)).toEqual(names.filter((name) => name.startsWith('@')))
    expect(shortNames.map(({ name }) => name)).toEqual(names.filter((name) => !name.startsWith('@')))
    expect([packed.length > 7, shortNames.length]).toEqual([true, 2])
  })

  it('takes the place of what was packed before, and of nothing else in the folder', () => {
    expect(existsSync(join(tarballs, 'countersign-client-0.0.1.tgz'))).toBe(false)
    expect(existsSync(join(tarballs, 'backup.tgz'))).toBe(true)
  })

  it.each(cases)('brings its licence, its README and what it was built from: %s', (name, { folder }) => {
    const files = packedAs(name)?.files ?? []
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    expect(files.some((file) => /^dist\/.*\.d\.ts$/.test(file))).toBe(manifestOf(folder).exports !== undefined)
    expect(files).toEqual(expect.arrayContaining(Object.values(manifestOf(folder).bin ?? {})))
    expect(files.filter((file) => /\.test\.|tsbuildinfo|^(test|scripts|cases)\//.test(file))).toEqual([])
    expect(readText(join(folder, 'LICENSE'))).toBe(readText('LICENSE'))
  })

  it.each(cases)('says where it comes from and what it is for: %s', (name, { folder, manifest }) => {
    const root = manifestOf('.')
    expect(manifest).toMatchObject({
      license: root.license,
      repository: { type: 'git', url: root.repository?.url, directory: folder },
      homepage: root.homepage?.replace('#readme', `/tree/main/${folder}#readme`),
      keywords: expect.arrayContaining(['countersign', 'authorization', 'ai-agents']),
      engines: manifestOf('.').engines,
      // The version of one is the version of all.
      version: manifestOf('server').version,
      publishConfig: { access: 'public', provenance: true },
    })
    const [title = '', empty, first = ''] = readText(join(folder, 'README.md')).split('\n')
    expect([title, empty]).toEqual([`# ${name}`, ''])
    expect(first.length).toBeGreaterThan(40)
  })

  it.each(cases)('has nothing that publint objects to: %s', async (name) => {
    const tarball = readFileSync(tarballOf(name))
    const { buffer, byteOffset, length } = tarball
    const pack = { tarball: buffer.slice(byteOffset, byteOffset + length) }
    const { messages, pkg } = await publint({ pack, strict: true })
    expect(pkg?.name).toBe(name)
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
  })

  it.each(cases)('has types that every resolver of modules finds: %s', async (name, { manifest }) => {
    const { types, ...found } = await checkPackage(createPackageFromTarballData(readFileSync(tarballOf(name))))
    expect(types !== false).toBe(manifest.exports !== undefined)
    const problems = 'problems' in found ? found.problems : []
    // It is for modules: neither `require` of an old Node nor its resolution is meant.
    const isMeant = (problem: (typeof problems)[number]) =>
      !('resolutionKind' in problem) || !['node10', 'node16-cjs'].includes(problem.resolutionKind)
    expect(problems.filter(isMeant)).toEqual([])
  })

  it('needs no package that is not published', () => {
    const names = published.map(({ manifest }) => manifest.name)
    const needed = published.flatMap(({ manifest }) =>
      Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    )
    expect(needed.filter((name) => /^@?countersign\b/.test(name) && !names.includes(name))).toEqual([])
  })

  it('the pages of the dashboard are in the package of the server, which serves them', () => {
    const { files = [] } = packed.find(({ name }) => name === '@countersign/server') ?? {}
    expect(files).toContain('dist/dashboard/index.html')
    expect(files.some((file) => /^dist\/dashboard\/dashboard\/assets\/.+\.js$/.test(file))).toBe(true)
  })

  it.each(cases)('takes any version of its peers of this repository that fits: %s', (_name, { manifest }) => {
    const own = Object.entries(manifest.peerDependencies ?? {}).filter(([peer]) => peer.startsWith('@countersign/'))
    for (const [, range] of own) expect(range).toMatch(/^\^0\.\d+\.0$/)
  })
})

describe('in a clean folder', () => {
  beforeAll(async () => {
    await run('mkdir', [project])
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
    const others = published.flatMap(({ folder, manifest }) =>
      Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
        .filter((name) => !/^@?countersign\b/.test(name))
        // A package that needs another version than the rest of the checkout has its own.
        .map((name) => [join(ROOT, folder, 'node_modules', name)].find(existsSync) ?? name),
    )
    await installIn(project, `npm install ${others.join(' ')}`)
  }, 60_000)

  it.each([
    ['docs/sdk.md', ['client']],
    ['docs/express.md', ['client', 'contract', 'express', 'permit']],
    ['docs/langchain.md', ['client', 'contract', 'express', 'langchain', 'permit']],
    ['docs/mcp-server.md', ['client', 'contract', 'express', 'langchain', 'mcp', 'permit']],
    ['docs/mcp.md', ['client', 'contract', 'express', 'langchain', 'mcp', 'permit']],
  ])(
    'the command of %s installs what it is about and what that needs',
    async (page, expected) => {
      // A generator of clients is not for this project, nor in this checkout.
      const commands = [...readText(page).matchAll(/^npm install (?!.*@hey-api\/).*$/gm)].map(([command]) => command)
      expect(commands[0]).toContain('../countersign/dist-packages/')
      for (const command of commands)
        await installIn(project, command.replaceAll('../countersign/dist-packages', tarballs))
      expect(await scopedPackages()).toEqual(expected)
    },
    60_000,
  )

  it('the programs of every README compile in a strict project', async () => {
    await installIn(project, `npm install ${[...packed, ...shortNames].map(({ tarball }) => tarball).join(' ')}`)
    const pages = ['README.md', 'docs/permits.md', ...published.map(({ folder }) => join(folder, 'README.md'))]
    const texts = pages.flatMap((page) =>
      [...readText(page).matchAll(/^```[jt]s\n(import [\s\S]*?)^```$/gm)].map(([, text = '']) => text),
    )
    // Parameters of plain JavaScript have no types.
    const programs = texts
      .filter((text) => !/^async function/m.test(text))
      .map((text, i) => {
        writeFileSync(join(project, `${i}.ts`), text)
        return `${i}.ts`
      })
    const compilerOptions = { module: 'nodenext', target: 'es2022', types: ['node'], strict: true, skipLibCheck: true }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, noEmit: true }, files: programs }),
    )
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const { stdout } = await run(process.execPath, [tsc, '-p', '.'], { cwd: project }).catch((error) => error)
    expect(stdout).toBe('')
    expect(texts.length - programs.length).toBe(1)
    expect(programs.length).toBeGreaterThan(published.length + 2)
  }, 120_000)

  it.each(cases)(
    'declarations name nothing that npm does not install with their package: %s',
    async (name, { manifest }) => {
      const known = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, [name]: '' })
      const entries = Object.values((manifest.exports ?? {}) as Record<string, { readonly types?: string }>)
      for (const { types } of entries) {
        if (types === undefined) continue
        const named = await outerImports(join(project, 'node_modules', name, types))
        const packages = named.filter((id) => !id.startsWith('node:')).map((id) => /^(@[^/]+\/)?[^/]+/.exec(id)?.[0])
        expect(
          packages.filter((one) => !known.includes(one ?? '')),
          `${name} ${types}`,
        ).toEqual([])
      }
    },
  )

  it('each package does what its README says', async () => {
    const server = await serveIn(project, join(project, 'node_modules', '.bin', 'countersign'), [])
    const faults: string[] = []
    const compared = new Set<string>()
    // The server first: its page is that of a server without a policy.
    for (const { manifest, folder } of published.toReversed()) {
      // Its app listens until it is ended: a test of its own runs it.
      if (manifest.name === '@countersign/express') continue
      const blocks = commandBlocks(readText(join(folder, 'README.md'))).filter(
        ({ command }) => command !== 'npx countersign serve',
      )
      const script = asScript(
        blocks.map(({ command }) => command),
        server,
      )
      const { stdout } = await run('bash', ['-c', script], { cwd: project, env: server.env })
      const outputs = outputsOf(stdout)
      for (const [i, { outcome }] of blocks.entries()) {
        if (outcome === null) continue
        compared.add(folder)
        faults.push(...differencesFrom(outcome, outputs[i] ?? '').map((fault) => `${folder}: ${fault}`))
      }
    }
    const page = await fetch(server.env.COUNTERSIGN_URL)
    await server.stop()
    expect(await page.text()).toContain('<div id="root">')
    expect(faults).toEqual([])
    // Express is above. The short name of the proxy shows no answers.
    expect(compared.size).toBe(published.length - 2)
  }, 60_000)
})

async function scopedPackages(): Promise<string[]> {
  const { stdout } = await run('ls', [join(project, 'node_modules', '@countersign')])
  return stdout.split('\n').filter((name) => name !== '')
}
