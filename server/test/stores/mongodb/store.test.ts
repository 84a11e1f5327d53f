import { storeSuite } from '../../store-suite/index.js'
import { openInNewDatabase } from './open-mongo-store.js'

storeSuite('the store on MongoDB', () => openInNewDatabase())
