import { describe, expect, test } from 'vitest'
import { assertFit, UnfitDatabaseError } from './unfit-database.js'

const URL_WITH_PASSWORD = 'mongodb://user:pa55@db.example/things'

describe('a database that speaks the protocol of MongoDB', () => {
  test.each([
    { version: '7.0.77', ferretdbVersion: 'v1.24.2', ferretdbFeatures: {} },
    { version: '7.0.77', ferretdb: { version: 'v2.5.0' } },
  ])('is refused if it is FerretDB: %j', (buildInfo) => {
    const refused = () => assertFit(buildInfo, URL_WITH_PASSWORD)
    expect(refused).toThrow(UnfitDatabaseError)
    expect(refused).toThrow('The database at db.example/things is FerretDB.')
    expect(refused).not.toThrow('pa55')
  })

  test('is taken otherwise', () => {
    assertFit({ version: '8.0.4', modules: [], storageEngines: ['wiredTiger'] }, URL_WITH_PASSWORD)
  })
})
