/** The rules of a policy as a form. Each change edits only its own place in the text. */
import type { Json } from '@countersign/contract'
import { ActionIcon, Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { ArrowDownIcon, ArrowUpIcon, PlusIcon, TrashIcon } from '@primer/octicons-react'
import { conditionWords } from '../../components/condition-words'
import { jsonText } from '../../components/json/json-view'
import { insertItem, removeItem, setMember, swapItems } from './edit-text'
import classes from './form.module.css'
import { type FormProps, isObject, textOf } from './members'

const RULES = ['rules']
const EFFECTS = ['allow', 'deny', 'review', 'log']
const NEW_RULE = { action: 'payment.refund', effect: 'review' }

export function RulesForm({ policy, edit, isReadOnly }: FormProps) {
  const { rules } = policy
  if (rules !== undefined && !Array.isArray(rules))
    return <Text className="quiet">“rules” is not a list. Fix it in the text.</Text>
  const items = (rules ?? []) as readonly Json[]
  const add = () =>
    edit((text) =>
      rules === undefined ? setMember(text, [], 'rules', [NEW_RULE]) : insertItem(text, RULES, items.length, NEW_RULE),
    )
  return (
    <>
      <Text size="sm" className="quiet" mb="xs">
        The first matching rule decides.
      </Text>
      <ol className={classes.rules} aria-label="Rules">
        {items.map((rule, index) => (
          // Rules have no ids, so the index identifies them.
          // biome-ignore lint/suspicious/noArrayIndexKey: see above
          <li key={index} className={classes.rule} aria-label={`Rule ${index + 1}`}>
            <RuleFields rule={rule} index={index} count={items.length} edit={edit} isReadOnly={isReadOnly} />
          </li>
        ))}
      </ol>
      <Button
        mt="xs"
        size="xs"
        variant="default"
        leftSection={<PlusIcon size={14} />}
        onClick={add}
        disabled={isReadOnly}
      >
        Add a rule
      </Button>
    </>
  )
}

interface RuleFieldsProps extends Pick<FormProps, 'edit' | 'isReadOnly'> {
  readonly rule: Json
  readonly index: number
  readonly count: number
}

function RuleFields({ rule, index, count, edit, isReadOnly }: RuleFieldsProps) {
  const name = `rule ${index + 1}`
  const set = (key: string, value: string, isOptional = false) =>
    edit((text) => setMember(text, ['rules', index], key, isOptional && value === '' ? undefined : value))
  const move = (to: number) => edit((text) => swapItems(text, RULES, index, to))
  const effect = isObject(rule) ? textOf(rule.effect) : ''
  return (
    <>
      <Group gap={6} wrap="nowrap" justify="space-between">
        <Group gap="xs" wrap="nowrap">
          <span className={classes.number}>{index + 1}</span>
          {isObject(rule) && (
            <NativeSelect
              aria-label={`Effect of ${name}`}
              size="xs"
              w={110}
              disabled={isReadOnly}
              data={EFFECTS.includes(effect) ? EFFECTS : [effect, ...EFFECTS]}
              value={effect}
              onChange={(event) => set('effect', event.currentTarget.value)}
            />
          )}
        </Group>
        <Group gap={2} wrap="nowrap">
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Move ${name} up`}
            disabled={isReadOnly || index === 0}
            onClick={() => move(index - 1)}
          >
            <ArrowUpIcon size={16} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Move ${name} down`}
            disabled={isReadOnly || index === count - 1}
            onClick={() => move(index + 1)}
          >
            <ArrowDownIcon size={16} />
          </ActionIcon>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove ${name}`}
            disabled={isReadOnly}
            onClick={() => edit((text) => removeItem(text, RULES, index))}
          >
            <TrashIcon size={16} />
          </ActionIcon>
        </Group>
      </Group>
      {isObject(rule) ? (
        <>
          <div className={classes.fields}>
            <TextInput
              label="Action"
              size="xs"
              disabled={isReadOnly}
              value={textOf(rule.action)}
              onChange={(event) => set('action', event.currentTarget.value)}
            />
            <TextInput
              label="Resource"
              placeholder="any, or none"
              size="xs"
              disabled={isReadOnly}
              value={textOf(rule.resource)}
              onChange={(event) => set('resource', event.currentTarget.value, true)}
            />
          </div>
          <Text size="sm" className={classes.words}>
            {rule.conditions === undefined ? (
              <span className="quiet">Always</span>
            ) : (
              <>
                <span className="quiet">When </span>
                {conditionWords(rule.conditions)}
              </>
            )}
            {rule.on_unknown === 'skip' && <span className="quiet"> · skipped when this is unknown</span>}
          </Text>
          <TextInput
            label="Reason"
            placeholder="returned with the decision"
            size="xs"
            disabled={isReadOnly}
            value={textOf(rule.reason)}
            onChange={(event) => set('reason', event.currentTarget.value, true)}
          />
        </>
      ) : (
        <code>{jsonText(rule)}</code>
      )}
    </>
  )
}
