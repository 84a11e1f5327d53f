import { sabotageSuite } from '@countersign/testkit/store-suite'
import { openInNewDirectory } from './open-in-new-directory.js'

sabotageSuite('the store suite catches an embedded store that', openInNewDirectory)
