import { storeSuite } from '@countersign/testkit/store-suite'
import { openInNewDatabase } from './open-mongo-store.js'

storeSuite('the store on MongoDB', () => openInNewDatabase())
