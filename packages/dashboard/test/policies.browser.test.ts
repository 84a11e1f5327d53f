/** Policies are listed, corrected, tested, saved and restored. */
import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { allowing, createPolicy, DENIED, decide, makeKey, REFUNDS, succeed } from '../../../server/test/api/refunds.js'
import { editedStore } from '../../../server/test/edited-store.js'
import { stage } from './support/browser.js'

describe('policies', () => {
  const on = stage({ settings: { rateLimitPerSecond: 0 } })
  let names = 0

  const button = (name: string) => on.page.getByRole('button', { name, exact: true })
  const editor = () => on.page.getByRole('textbox', { name: 'Policy as JSON' })
  const problems = () => on.page.getByRole('list', { name: 'Errors and warnings' })
  const stored = (id: string) => succeed(on.server.call('GET', `/v1/policies/${id}`))
  /** A refund policy with a unique name. */
  const newPolicy = (more: object = {}) => createPolicy(on.server, { ...REFUNDS, name: `refunds ${names++}`, ...more })

  async function write(box: Locator, text: string): Promise<void> {
    await box.click()
    await on.page.keyboard.press('Control+A')
    await on.page.keyboard.insertText(text)
  }

  async function openPolicy(id: string, search = ''): Promise<void> {
    await on.open(`/policies/${id}${search}`)
    await on.page.getByText(/no errors/).waitFor()
  }

  describe('of a new server', () => {
    it('are none, and the page says what that means', async () => {
      await on.open('/policies', 'Policies')
      await on.page.getByText('No policies yet: every request is denied').waitFor()
      await on.page.getByRole('link', { name: 'Create the first policy' }).click()
      await on.page.getByRole('heading', { level: 1, name: 'New policy' }).waitFor()
      await on.screenshot('policy-new')
    })

    it('are written with an error, mended and saved', async () => {
      await on.open('/policies/new', 'New policy')
      await write(editor(), '{"name": "mine", "rules": [{"action": "db.read", "effect": "alow"}]}')
      await problems().getByText('must be one of allow, deny, review, log; did you mean allow?').waitFor()
      expect(await button('Save').isDisabled()).toBe(true)
      expect(await on.page.locator('.cm-lintRange-error').allTextContents()).toEqual(['"alow"'])
      await problems().getByRole('button').click()
      await on.page.keyboard.insertText('"allow"')
      await on.page.getByText('no errors, no warnings').waitFor()
      await button('Save').click()
      await on.page.getByRole('heading', { level: 1, name: 'mine' }).waitFor()
      const { data } = await succeed(on.server.call('GET', '/v1/policies'))
      expect(data).toMatchObject([{ name: 'mine', rules: [{ action: 'db.read', effect: 'allow' }], revision: 1 }])
      expect(new URL(on.page.url()).pathname).toBe(`/policies/${data[0].id}`)
    })
  })

  it('are listed by priority, and found', async () => {
    await newPolicy({ name: 'low', priority: -5, rules: [{ action: 'a.b', effect: 'allow' }] })
    await newPolicy({ name: 'high', priority: 5, mode: 'shadow', budget: { limit: 10, unit: 'EUR', period: 'daily' } })
    await newPolicy({ name: 'off', enabled: false })
    await on.open('/policies', 'Policies')
    const rows = on.page.getByRole('table').getByRole('row')
    const high = rows.filter({ hasText: 'high' })
    await high.waitFor()
    expect((await high.getByRole('cell').allTextContents()).slice(0, 5)).toEqual([
      'highagent:support-*',
      'shadow',
      '5',
      '3 rules1 allow, 1 review, 1 deny',
      '10 EURdaily',
    ])
    expect(await rows.nth(1).textContent()).toContain('high')
    expect(await rows.last().textContent()).toContain('low')
    await rows.filter({ hasText: 'off' }).getByText('disabled').waitFor()
    await on.page.getByLabel('Search').fill('a.B')
    await expect.poll(() => rows.count()).toBe(2)
    expect(new URL(on.page.url()).search).toBe('?q=a.B')
    await on.page.getByLabel('Search').fill('nothing like it')
    await button('Show all').click()
    await rows.filter({ hasText: 'high' }).click()
    await on.page.getByRole('heading', { level: 1, name: 'high shadow' }).waitFor()
  })

  describe('the editor', () => {
    it('shows faults of the JSON at their place, and the form waits', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await write(editor(), '{"name": "x",\n "name": "y", "rules": []}')
      await problems().getByText('The key "name" is repeated.').waitFor()
      await problems().getByText('line 2').waitFor()
      await on.page.getByText('The text is not valid JSON').waitFor()
      expect(await on.page.getByLabel('Name', { exact: true }).inputValue()).toBe(policy.name)
      expect(await on.page.getByLabel('Name', { exact: true }).isDisabled()).toBe(true)
      await write(editor(), '{"name": "x", "priority": 12345678901234567890}')
      await problems().getByText('The number is too large to be represented exactly.').waitFor()
    })

    it('shows warnings at their token', async () => {
      await on.open('/policies/new', 'New policy')
      await write(
        editor(),
        '{"name": "w", "rules": [{"action": "*", "effect": "allow"}, {"action": "a.b", "effect": "deny"}]}',
      )
      await problems().getByRole('img', { name: 'Warning' }).first().waitFor()
      expect(await on.page.locator('.cm-lintRange-warning').allTextContents()).toContain(
        '{"action": "a.b", "effect": "deny"}',
      )
      expect(await button('Save').isEnabled()).toBe(true)
      await on.look('policy-warnings')
    })

    it('offers members, values and paths', async () => {
      await on.open('/policies/new', 'New policy')
      const labels = on.page.getByRole('listbox').locator('.cm-completionLabel')
      /** Types, waits for exactly these suggestions, and accepts the first. */
      const takeFirst = async (typed: string, ...offered: string[]) => {
        await on.page.keyboard.type(typed)
        await expect.poll(() => labels.allTextContents()).toEqual(offered)
        await labels.first().click()
      }
      await write(editor(), '{"name": "c", "rules": [{"action": "a.b", ')
      await takeFirst('"ef', 'effect')
      await takeFirst('', 'allow', 'deny', 'log', 'review')
      await takeFirst(', "cond', 'conditions')
      await on.page.keyboard.type('"now')
      await labels.first().waitFor()
      await on.look('policy-completion')
      await takeFirst('', 'now.hour', 'now.weekday')
      await takeFirst('"$lt', '$lt', '$lte')
      await on.page.keyboard.type('6')
      expect(await editor().textContent()).toContain('"effect": "allow", "conditions": {"now.hour": {"$lt": 6}}')
    })

    it('keeps a number as it is written', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await write(
        editor(),
        `{"name": "${policy.name}", "priority": 1e2, "rules": [{"action": "a.b", "effect": "deny"}]}`,
      )
      await on.page.getByText('no errors').waitFor()
      await editor().press('Control+s')
      await on.page.getByText('Revision 2, saved').waitFor()
      expect(await editor().textContent()).toContain('"priority": 1e2')
      expect((await stored(policy.id)).priority).toBe(100)
    })

    it('says that a name is taken, at the name', async () => {
      const taken = await newPolicy()
      await on.open('/policies/new', 'New policy')
      await write(editor(), JSON.stringify({ ...REFUNDS, name: taken.name }))
      await on.page.getByText('no errors').waitFor()
      await button('Save').click()
      await problems().getByText('is the name of another policy').waitFor()
      expect(await on.page.locator('.cm-lintRange-error').allTextContents()).toEqual(['"name"'])
      expect(on.complaints.splice(0)).toEqual([expect.stringContaining('409')])
    })
  })

  describe('the form', () => {
    it('changes the text, and leaves all else of it', async () => {
      const policy = await newPolicy({ description: 'kept' })
      await openPolicy(policy.id)
      const rule = (number: number) => on.page.getByRole('listitem', { name: `Rule ${number}` })
      await rule(1).getByText('When context.amount is at most 100').waitFor()
      await rule(1).getByLabel('Action').fill('payment.*')
      await rule(1).getByLabel('Resource').fill('order:*')
      await rule(3).getByLabel('Effect of rule 3').selectOption('review')
      await rule(2).getByLabel('Reason').fill('')
      await button('Move rule 3 up').click()
      await button('Add a rule').click()
      await rule(4).getByLabel('Action').fill('db.drop')
      await rule(4).getByLabel('Effect of rule 4').selectOption('deny')
      await button('Remove rule 3').click()
      await button('Add a budget').click()
      await on.page.getByLabel('Limit', { exact: true }).fill('12.5')
      await on.page.getByLabel('Period').selectOption('daily')
      await on.page.getByLabel('Priority').fill('7')
      await on.page.getByText('no errors').waitFor()
      await on.look('policy-form')
      await button('Save').click()
      await on.page.getByText('Revision 2, saved').waitFor()
      expect(await stored(policy.id)).toMatchObject({
        description: 'kept',
        priority: 7,
        agents: ['agent:support-*'],
        rules: [
          { ...REFUNDS.rules[0], action: 'payment.*', resource: 'order:*' },
          { action: 'payment.refund', effect: 'review' },
          { action: 'db.drop', effect: 'deny' },
        ],
        budget: { limit: 12.5, unit: 'EUR', period: 'daily' },
      })
    })
  })

  it.each([
    ['1.05', 1.05],
    ['0.05', 0.05],
    ['context.total', 'context.total'],
  ])('take the amount %s of a budget as it is typed', async (typed, amount) => {
    const budget = { limit: 1000, unit: 'EUR', period: 'monthly' }
    const policy = await newPolicy({ budget })
    await openPolicy(policy.id)
    const field = on.page.getByLabel('Amount', { exact: true })
    await field.fill('')
    await field.pressSequentially(typed)
    expect(await field.inputValue()).toBe(typed)
    await field.blur()
    expect(await field.inputValue()).toBe(typed)
    await on.page.getByText('no errors').waitFor()
    await button('Save').click()
    await on.page.getByText('Revision 2, saved').waitFor()
    expect((await stored(policy.id)).budget).toMatchObject({ ...budget, amount })
  })

  describe('saving', () => {
    it('over what somebody else has saved meanwhile is asked', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await on.page.getByLabel('Priority').fill('3')
      const { id, ...document } = policy
      const theirs = { ...document, priority: 9 }
      await succeed(on.server.call('PUT', `/v1/policies/${id}`, { body: theirs }))
      await on.page.getByText('no errors').waitFor()
      await button('Save').click()
      await on.page.getByText('Revision 2 was saved while you were editing').waitFor()
      expect(on.complaints.splice(0)).toEqual([expect.stringContaining('412')])
      const changes = on.page.getByRole('textbox', { name: 'Changes from revision 1 to revision 2' })
      expect(await changes.textContent()).toContain('"priority": 9')
      expect(await stored(id)).toMatchObject({ revision: 2, priority: 9 })
      await on.look('policy-conflict')
      await button('Save mine over revision 2').click()
      await on.page.getByText('Revision 3, saved').waitFor()
      expect(await stored(id)).toMatchObject({ revision: 3, priority: 3 })
      // The opposite choice loads the stored policy.
      await on.page.getByLabel('Priority').fill('4')
      await succeed(on.server.call('PUT', `/v1/policies/${id}`, { body: theirs }))
      await on.page.getByText('no errors').waitFor()
      await button('Save').click()
      await button('Load revision 4 and drop my changes').click()
      await expect.poll(() => on.page.getByLabel('Priority').inputValue()).toBe('9')
      expect(on.complaints.splice(0)).toEqual([expect.stringContaining('412')])
    })

    it('is not forgotten when the page is left', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await on.page.getByLabel('Priority').fill('3')
      await on.page.getByRole('link', { name: 'Overview' }).click()
      const dialog = on.page.getByRole('dialog', { name: 'Leave without saving?' })
      await on.look('policy-leave')
      await dialog.getByRole('button', { name: 'Stay' }).last().click()
      await dialog.waitFor({ state: 'hidden' })
      expect(await on.page.getByLabel('Priority').inputValue()).toBe('3')
      // A tab of the same page does not count as leaving it.
      await on.page.getByRole('tab', { name: 'Revisions' }).click()
      await on.page.getByRole('tab', { name: 'Edit' }).click()
      const asked = new Promise<string>((resolve) =>
        on.page.once('dialog', (browserDialog) => {
          resolve(browserDialog.type())
          void browserDialog.dismiss()
        }),
      )
      await on.page.close({ runBeforeUnload: true })
      expect(await asked).toBe('beforeunload')
      await on.page.getByRole('link', { name: 'Overview' }).click()
      await dialog.getByRole('button', { name: 'Leave' }).click()
      await on.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      expect(await stored(policy.id)).toMatchObject({ revision: 1 })
    })

    it('is not forgotten for the same policy without its draft', async () => {
      const policy = await newPolicy({ agents: ['agent:stay'] })
      const { id } = await decide(on.server, { ...DENIED, agent_id: 'agent:stay' })
      await openPolicy(policy.id)
      // As a link of the page does, because the router counts the entries of the history.
      await on.page.evaluate((path) => {
        const { state } = window.history
        window.history.pushState({ ...state, __TSR_index: state.__TSR_index + 1 }, '', path)
      }, `/policies/${policy.id}?for=${id}`)
      await on.page.getByText('A draft, not saved: check it').waitFor()
      await on.page.evaluate(() => window.history.back())
      const dialog = on.page.getByRole('dialog', { name: 'Leave without saving?' })
      await dialog.getByRole('button', { name: 'Stay' }).last().click()
      await dialog.waitFor({ state: 'hidden' })
      await on.page.getByText('Not saved', { exact: true }).waitFor()
    })

    it('is not for a key that may only read', async () => {
      const policy = await newPolicy()
      const { key } = await makeKey(on.server, ['policies:read'])
      const page = await on.another(key)
      await page.goto(`/policies/${policy.id}`)
      await page.getByText('Your key is missing the scope policies:write').waitFor()
      await page.getByLabel('Priority').fill('3')
      await page.getByText('Not saved', { exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled()).toBe(true)
      expect(await page.getByRole('button', { name: 'More' }).count()).toBe(0)
      await page.context().close()
    })
  })

  describe('revisions', () => {
    it('show what has changed, and are restored by saving', async () => {
      const policy = await newPolicy()
      const { id, ...document } = policy
      const changed = { ...document, rules: document.rules.slice(0, 1) }
      await succeed(on.server.call('PUT', `/v1/policies/${id}`, { body: changed }))
      await openPolicy(id)
      await on.page.getByRole('tab', { name: 'Revisions' }).click()
      const changes = on.page.getByRole('textbox', { name: 'Changes from revision 1 to 2' })
      await changes.waitFor()
      expect(await changes.locator('.cm-deletedChunk').first().textContent()).toContain(
        'Refunds over 100 need a person.',
      )
      await on.screenshot('policy-revisions')
      await button('Restore in the editor').click()
      await on.page.getByText('Not saved', { exact: true }).waitFor()
      expect(await stored(id)).toMatchObject({ revision: 2 })
      await on.page.getByText('no errors').waitFor()
      await button('Save').click()
      await on.page.getByText('Revision 3, saved').waitFor()
      expect((await stored(id)).rules).toEqual(REFUNDS.rules)
    })

    it('are compared with the audit log, which names one that somebody has edited in the store', async () => {
      const document = allowing('file.compare')
      const { id } = await createPolicy(on.server, document)
      await succeed(on.server.call('PUT', `/v1/policies/${id}`, { body: { ...document, priority: 3 } }))
      const compared = async (answer: string) => {
        await on.open(`/policies/${id}?tab=revisions`)
        await on.page.getByRole('button', { name: 'Compare with the audit log' }).click()
        await on.page.getByText(answer).waitFor()
      }
      await compared('Every revision matches the audit log')
      const store = editedStore(on.server.dataDir)
      await store.document('policies', [id, 1], ({ document }) => Object.assign(document.rules[0], { effect: 'log' }))
      await compared('The stored revisions differ from the audit log')
      await on.page.getByText('revision 1: its text differs from the saved one').waitFor()
      expect(await on.page.getByRole('alert').getByRole('listitem').count()).toBe(1)
      await on.look('policy-revisions-edited')
      await on.narrow('policy-revisions-edited')
      await store.undo()
      await store.close()
      await compared('Every revision matches the audit log')
    })

    it('of a deleted policy can be written again', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await button('More').click()
      await on.page.getByRole('menuitem', { name: 'Delete' }).click()
      const dialog = on.page.getByRole('dialog')
      const confirm = dialog.getByRole('button', { name: 'Delete' })
      await on.look('policy-delete')
      await dialog.getByLabel('Type the policy name to confirm').fill('refunds')
      expect(await confirm.isDisabled()).toBe(true)
      await dialog.getByLabel('Type the policy name to confirm').fill(policy.name)
      await confirm.click()
      await on.page.getByRole('heading', { level: 1, name: 'Policies' }).waitFor()
      expect((await on.server.call('GET', `/v1/policies/${policy.id}`)).status).toBe(404)
      await on.open(`/policies/${policy.id}`, 'Deleted policy')
      await button('Create it again').click()
      await on.page.getByRole('heading', { level: 1, name: 'New policy' }).waitFor()
      await on.page.getByText('no errors').waitFor()
      await button('Save').click()
      await on.page.getByRole('heading', { level: 1, name: policy.name }).waitFor()
      expect(on.complaints.splice(0)).toEqual([expect.stringContaining('404')])
    })
  })

  it('are disabled and enabled', async () => {
    const policy = await newPolicy()
    await openPolicy(policy.id)
    for (const [verb, enabled] of [
      ['Disable', false],
      ['Enable', true],
    ] as const) {
      await button('More').click()
      await on.page.getByRole('menuitem', { name: verb }).click()
      await on.page.getByRole('dialog').getByRole('button', { name: verb }).click()
      await on.page.getByRole('dialog').waitFor({ state: 'hidden' })
      await expect.poll(async () => (await stored(policy.id)).enabled).toBe(enabled)
      await expect.poll(() => on.page.getByLabel('Enabled').isChecked()).toBe(enabled)
    }
  })

  describe('a draft for a denied decision', () => {
    const ASKED = {
      agent_id: 'agent:builder',
      action: 'deploy.start',
      resource: 'app:shop',
      context: { size: 3, to: 'test' },
    }

    it('becomes a rule in front of the one that denied, and counts once it is saved', async () => {
      const policy = await newPolicy({ agents: ['agent:desk'] })
      const asked = { ...DENIED, agent_id: 'agent:desk' }
      const decision = await decide(on.server, asked)
      expect(decision).toMatchObject({ effect: 'deny', policy_id: policy.id, rule: 2 })
      await on.open(`/policies/${policy.id}?for=${decision.id}`)
      await on.page.getByText('A draft, not saved: check it').waitFor()
      await on.page.getByText('Not saved', { exact: true }).waitFor()
      await on.page.getByText('no errors').waitFor()
      expect(await stored(policy.id)).toMatchObject({ revision: 1 })
      await button('Test the draft').click()
      await on.page.getByText('rule matched, by rule 3 of').waitFor()
      await on.look('policy-draft')
      expect((await decide(on.server, asked)).effect).toBe('deny')
      await button('Save').click()
      await on.page.getByText('Revision 2, saved').waitFor()
      expect((await stored(policy.id)).rules[2]).toMatchObject({ action: asked.action, effect: 'allow' })
      expect(await decide(on.server, asked)).toMatchObject({ effect: 'allow', policy_id: policy.id, rule: 2 })
      expect(new URL(on.page.url()).search).toBe('')
    })

    it('becomes a policy of its own when none was asked', async () => {
      const decision = await decide(on.server, ASKED)
      expect(decision.reason_code).toBe('no_matching_policy')
      await on.open(`/policies/new?for=${decision.id}`, 'New policy')
      await on.page.getByText('no errors').waitFor()
      await button('Test the draft').click()
      await on.page.getByText('(the draft)').first().waitFor()
      expect((await decide(on.server, ASKED)).effect).toBe('deny')
      await button('Save').click()
      await on.page.getByRole('heading', { level: 1, name: 'allow deploy.start' }).waitFor()
      expect((await decide(on.server, ASKED)).effect).toBe('allow')
      expect((await decide(on.server, { ...ASKED, context: { ...ASKED.context, size: 4 } })).effect).toBe('deny')
    })
  })

  describe('a draft that another policy would overrule', () => {
    const asked = (agent: string) => ({ agent_id: agent, action: 'vault.open', resource: 'vault:1', context: {} })
    const denying = (agent: string, priority: number) =>
      newPolicy({ agents: [agent], priority, rules: [{ action: 'vault.*', effect: 'deny', reason: 'No vaults.' }] })

    it('of a policy of its own gets a higher priority, and allows what it says', async () => {
      const other = await denying('agent:own', 5)
      const { id, effect } = await decide(on.server, asked('agent:own'))
      expect(effect).toBe('deny')
      await on.open(`/policies/new?for=${id}`, 'New policy')
      await on.page.getByText('With this policy, the current policies allow what').waitFor()
      await on.page.getByText('Its priority is 6, above that of').getByRole('link', { name: other.name }).waitFor()
      await on.page.getByText('no errors').waitFor()
      await on.look('policy-draft-above')
      await button('Save').click()
      await on.page.getByRole('heading', { level: 1, name: 'allow vault.open' }).waitFor()
      expect((await decide(on.server, asked('agent:own'))).effect).toBe('allow')
    })

    it('of a rule says that it does not allow it yet, and by what', async () => {
      const policy = await denying('agent:two', 5)
      const other = await denying('agent:two', 5)
      const { id, policy_id } = await decide(on.server, asked('agent:two'))
      const [edited, decides] = policy_id === policy.id ? [policy, other] : [other, policy]
      await openPolicy(edited.id, `?for=${id}`)
      const notice = on.page.getByText('The draft of rule 1 is meant to allow what')
      await notice.getByText('It does not yet: the result would be deny, by rule 1 of').waitFor()
      await notice.getByRole('link', { name: decides.name }).waitFor()
      await notice.getByRole('link', { name: 'write a separate policy' }).click()
      await on.page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click()
      await on.page.getByText('With this policy, the current policies allow what').waitFor()
    })
  })

  describe('trying a draft', () => {
    it('asks all stored policies with the draft in its place, and stores nothing', async () => {
      const other = await createPolicy(on.server, { ...allowing('tool.use'), priority: 50 })
      const policy = await newPolicy({ agents: ['agent:try'], priority: 60 })
      await openPolicy(policy.id)
      await on.page.getByRole('tab', { name: 'Try it' }).click()
      await on.page.getByLabel('Agent', { exact: true }).fill('agent:try')
      await on.page.getByLabel('Action', { exact: true }).last().fill('tool.use')
      await button('Test the draft').click()
      await on.page.getByText(`rule matched, by rule 1 of ${other.name}`).waitFor()
      await write(
        editor(),
        JSON.stringify({
          name: policy.name,
          priority: 60,
          rules: [{ action: 'tool.*', effect: 'deny', reason: 'No tools.' }],
        }),
      )
      await on.page.getByText('This result is for an earlier version of the draft. Test it again.').waitFor()
      await on.page.getByText('no errors').waitFor()
      await button('Test the draft').click()
      await on.page.getByText('No tools.', { exact: true }).waitFor()
      await on.page.getByText(`by rule 1 of ${policy.name} (the draft)`).waitFor()
      expect(await stored(policy.id)).toMatchObject({ revision: 1 })
      const asked = await succeed(on.server.call('GET', '/v1/decisions?agent_id=agent:try'))
      expect(asked.data).toEqual([])
    })

    it('names what is wrong with the request', async () => {
      const policy = await newPolicy()
      await openPolicy(policy.id)
      await on.page.getByRole('tab', { name: 'Try it' }).click()
      await on.page.getByLabel('Agent', { exact: true }).fill('agent:try')
      await on.page.getByLabel('Action', { exact: true }).last().fill('no action')
      await button('Test the draft').click()
      await on.page.getByText('must be words of letters, digits, _ and -', { exact: false }).first().waitFor()
      expect(on.complaints.splice(0)).toEqual([expect.stringContaining('400')])
    })
  })

  it('with names that look like code are text', async () => {
    const name = `<img src=x onerror=alert(1)> \u202eevil`
    const policy = await newPolicy({ name })
    await openPolicy(policy.id)
    await on.page.getByRole('heading', { level: 1, name: '<img src=x onerror=alert(1)> \\u202eevil' }).waitFor()
    await on.open('/policies', 'Policies')
    await on.page.getByRole('link', { name: '<img src=x onerror=alert(1)> \\u202eevil' }).waitFor()
  })
})
