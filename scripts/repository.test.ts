import { describe, expect, it } from 'vitest'
import { missingEntries } from './complete-lock.mjs'
import { readText, repositoryFiles } from './repository-files.js'

/** Folders of the machine that something was written on, and what lies beside the checkout: neither is the reader's. */
const FOREIGN_PLACES = ['/work/', '/root/', `${'../'}shared`]

/**
 * Packages that may have a script to be run at installation. None has: whatever `npm ci --ignore-scripts` leaves out,
 * we do not need.
 */
const MAY_HAVE_INSTALL_SCRIPT: string[] = []

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
interface LockFile {
  packages: Record<string, { version?: string; hasInstallScript?: boolean }>
}

describe('every file of the repository', () => {
  it('speaks of no place outside of it', () => {
    const self = 'scripts/repository.test.ts'
    const faults = repositoryFiles
      .filter((path) => path !== self)
      .flatMap((path) =>
        FOREIGN_PLACES.filter((place) => readText(path).includes(place)).map((place) => `${path}: ${place}`),
      )
    expect(repositoryFiles).toContain(self)
    expect(faults).toEqual([])
  })
})

describe('every policy that a reader copies', () => {
  const shown = (path: string) =>
    /\.md$/.test(path) || path.startsWith('examples/') || path === 'docs/reference/openapi.json'
  const UPPER_BOUND_ALONE = /context\.amount["']?:\s*\{\s*["']?\$lte?\b/

  it('bounds an amount from below, too: -5000 is at most 100', () => {
    const pages = repositoryFiles.filter(shown)
    expect(pages.filter((path) => readText(path).includes('$lte')).length).toBeGreaterThan(8)
    expect(pages.filter((path) => UPPER_BOUND_ALONE.test(readText(path)))).toEqual([])
  })
})

describe('every dependency', () => {
  const manifests = repositoryFiles.filter((path) => /(^|\/)package\.json$/.test(path) && !path.includes('/fixtures/'))
  const lock = JSON.parse(readText('package-lock.json')) as LockFile

  it('has an exact version (a peer dependency may be a range)', () => {
    const faults = manifests.flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readText(path)) as Manifest
      return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${path}: ${name} ${version}`)
    })
    expect(manifests.length).toBeGreaterThan(7)
    expect(faults).toEqual([])
  })

  it('works without a script run at its installation', () => {
    const scripted = Object.entries(lock.packages).filter(([, entry]) => entry.hasInstallScript)
    expect(scripted.map(([path]) => path)).toEqual(MAY_HAVE_INSTALL_SCRIPT)
  })

  it('is in the lock file for every platform (else: node scripts/complete-lock.mjs)', () => {
    expect(missingEntries(lock)).toEqual({})
  })
})

describe('the lock file check', () => {
  it('finds an optional package that npm left out, with the platform that its name says', () => {
    const packages = {
      'node_modules/a': { dev: true, optionalDependencies: { '@a/linux-x64-musl': '1.0.0', '@a/windows-64': '1.0.0' } },
      'node_modules/@a/windows-64': { version: '1.0.0' },
    }
    expect(missingEntries({ packages })).toEqual({
      'node_modules/@a/linux-x64-musl': {
        version: '1.0.0',
        cpu: ['x64'],
        dev: true,
        libc: ['musl'],
        optional: true,
        os: ['linux'],
      },
    })
  })
})
