"""The sentences of a certificate: the same on every one of its version, so that a changed word is seen.

They say what holds for every release of this software and are part of the schema. Another sentence needs another
version of the schema.
"""

from typing import Final

READING: Final = (
    "For every pair of datasets that differ by all records of one privacy unit, and every set of outputs, the "
    "probability of the set under one dataset is at most exp(epsilon) times that under the other, plus delta. This "
    "holds for the generator and for everything ever drawn from it."
)
READING_BESIDE_EARLIER: Final = (
    "For every pair of datasets that differ by all records of one privacy unit, every outcome of the earlier releases that the "
    "plan's member 'reused' names, and every set of outputs, the probability of the set given that outcome is at most "
    "exp(epsilon) times that under the other dataset, plus delta. This holds for what the generator, and everything ever drawn "
    "from it, adds to these releases. It holds their counts too: of it and them together their epsilons and deltas add up."
)
"""For a release that reuses counts: alone it reveals what the earlier ones revealed as well, which its own epsilon does not cover."""
UNIT_OF_RECORD: Final = "one record, present in one dataset and absent from the other"
UNIT_OF_COLUMN: Final = "all records that share one value of the named column, however many they are"
ACTORS: Final = (
    "The owner hands the records to the service, which is trusted with them; analysts and whoever they pass the "
    "generator on to are not trusted, also not all of them together."
)
PREPROCESSING: Final = (
    (
        "Columns, types, bounds, categories and null policy, or size, colours and labels of images, are declared, not "
        "taken from the records; a value outside is clamped, mapped or refused by a rule that looks at that record alone."
    ),
    "Sums are divided by the declared size and the expected batch, never by an exact count.",
    "No option was tuned, and no step stopped, by looking at the records: options follow public rules or the order.",
    "A unit with several records counts once: by one record at random, or by their average.",
)
SELECTION_PREPROCESSING: Final = (
    *PREPROCESSING[:2],
    (
        "One of the candidates that the order names was chosen by looking at records, by a mechanism that is charged; "
        "nothing else was tuned, and no step stopped, by looking at them."
    ),
    PREPROCESSING[3],
)
"""For a selection, where the first sentence on options would be untrue."""
LEARNT_PREPROCESSING: Final = (
    (
        "Columns, types and null policy are declared, not taken from the records, and so are bounds, bins and categories but "
        "for those that the plan's member 'learning' names: these were learnt by mechanisms that are charged. A value outside "
        "is clamped, mapped or refused by a rule that looks at that record alone."
    ),
    *PREPROCESSING[1:3],
    "A unit with several records counts once: by one record, at random or the first, or by their average.",
)
"""For a training that learns its domain, where the first sentence on columns would be untrue."""
_BOUNDED = (
    "Of the records of a unit so many count as 'privacy_unit' states, or domain.json where that was learnt, drawn at random, each "
    "of them fully; sensitivity and noise are those of so many."
)
BOUNDED_PREPROCESSING: Final = (*PREPROCESSING[:3], _BOUNDED)
"""For a training with a bound on the records of a unit, where the last sentence would be untrue."""
LEARNT_BOUNDED_PREPROCESSING: Final = (
    *LEARNT_PREPROCESSING[:3],
    f"To learn the domain a unit with several records counts once: by its first record, or by their average. Then: {_BOUNDED}",
)
"""For a training that learns its domain and has such a bound, declared or learnt."""
_NAMES = (
    "categories are learnt from as many different ones of each unit as the plan's member 'names_per_unit' says, with equal "
    "weights whose squares add up to one at most"
)
LEARNT_NAMES_PREPROCESSING: Final = (
    *LEARNT_PREPROCESSING[:3],
    f"A unit with several records counts once: by one record at random, or by their average; {_NAMES}.",
)
"""For a training that learns categories, where several of a unit's count and the last sentence would be untrue."""
LEARNT_NAMES_BOUNDED_PREPROCESSING: Final = (
    *LEARNT_PREPROCESSING[:3],
    f"To learn the domain a unit with several records counts once, by their average; {_NAMES}. Then: {_BOUNDED}",
)
"""For such a training that has a bound on the records of a unit, declared or learnt."""
POST_PROCESSING: Final = "Pre-training, the generator's updates, averaging of weights, export and sampling see released values only."
COMPOSITION_WITHIN: Final = (
    "All mechanisms of the job are composed with parameters fixed beforehand, by privacy loss distributions and by "
    "Renyi divergences; the smaller epsilon is reported. Gradient and histograms of a refresh step are one Gaussian "
    "on one sample, whose inverse squared multipliers add up."
)
SELECTION_WITHIN: Final = (
    "A unit belongs to one part, by a coin of its own, so selecting costs, at every epsilon, the largest delta of the "
    "candidates' trainings and of the choice; training the winner costs the largest of all final plans, whichever it is. "
    "Both together are composed by privacy loss distributions and by Renyi divergences; the smaller epsilon is reported. "
    "Within a training all parameters are fixed beforehand."
)
COMPOSITION_ACROSS: Final = (
    "Jobs on one population are chosen after earlier outputs were seen; the ledger admits a job only while a filter "
    "that is valid under adaptive choice holds for everything spent and reserved."
)
JUSTIFICATION: Final = (
    "Epsilon and delta were asked for by who ordered, inside a cap and a grant that other people set.",
    (
        "The noise of the steps is the smallest, to six digits, at which all mechanisms together stay within epsilon at "
        "delta; the shares of the anchor and of the label histogram are fixed by public rules or by the order."
    ),
    "Delta is at most the declared cap's; it bounds the chance that the statement on epsilon fails.",
    "Options come from the declared size, the declared columns and epsilon by a public table, or were set in the order.",
)
ORDERED_JUSTIFICATION: Final = (
    JUSTIFICATION[0],
    (
        "The noise of the first step was set in the order, and that of the others follows its schedule; as many of the ordered "
        "steps were planned as stay, with all mechanisms together, within epsilon at delta. The shares of the anchor and of the "
        "label histogram are fixed by public rules or by the order."
    ),
    *JUSTIFICATION[2:],
)
"""For a training whose noise was set in the order, where the second sentence would be untrue."""
SELECTION_JUSTIFICATION: Final = (
    (
        "The epsilons of the candidates, of the choice and of the winner's training, and delta, were asked for by who "
        "ordered, inside a cap and a grant that other people set."
    ),
    (
        "The noise of each training's steps is the smallest, to six digits, at which that training stays within its own "
        "epsilon at delta; the shares of the anchor and of the label histogram are fixed by public rules or by the order."
    ),
    *JUSTIFICATION[2:],
)
UNPROTECTED: Final = (
    "the declared domain: names, types, bounds, categories and order of columns, or size, colours and labels of images",
    "the declared size of the dataset",
    "that a dataset was declared, uploaded, ordered from and published, by whom and when",
)
NOT_COVERED: Final = (
    "what the owner's own sealed reports say",
    "side channels of the machine: timing of the noise sampler, caches, power, residue in device memory",
    "somebody who holds the service's master key, or reads the memory of its processes while it trains",
    "other publications from the same records outside this service's ledger",
    "whether what is true of many people may be used against one of them",
)
MODEL_READING: Final = (
    "For every pair of datasets that differ by all records of one privacy unit, and every set of outputs, the "
    "probability of the set under one dataset is at most exp(epsilon) times that under the other, plus delta. This "
    "holds for the weights, the accuracy if there is one, and every answer of the model."
)
MODEL_ACTORS: Final = (
    "The owner hands the records to the service, which is trusted with them; analysts and whoever they pass the "
    "model on to are not trusted, also not all of them together."
)
MODEL_PREPROCESSING: Final = (
    *PREPROCESSING[:3],
    "A unit with several records counts once: by one record at random in a step, by its first record elsewhere.",
)
MODEL_POST_PROCESSING: Final = "Eigenvectors of the noisy second moments, the movement and averaging of weights, export and answers see released values only."
MODEL_WITHIN: Final = (
    "All mechanisms of the job are composed with parameters fixed beforehand, by privacy loss distributions and by "
    "Renyi divergences; the smaller epsilon is reported. The accuracy is of units that no step saw, and is charged as if they "
    "had been in every step."
)
MODEL_JUSTIFICATION: Final = (
    JUSTIFICATION[0],
    (
        "The noise of the steps is the smallest, to six digits, at which all mechanisms together stay within epsilon at "
        "delta; the shares of principal components and of the accuracy are fixed by public rules or by the order."
    ),
    *JUSTIFICATION[2:],
)
FEDERATED_READING: Final = (
    "For every pair of inputs that differ by all records of one privacy unit of one owner, and every set of outputs, the "
    "probability of the set under one input is at most exp(epsilon) times that under the other, plus delta. This holds for the "
    "weights, the accuracy if there is one, and every answer of the model. Owners' units are taken to be different: a person who is "
    "a unit of j owners is protected by the bound on j units, which 'presence' states and which is weaker."
)
FEDERATED_ACTORS: Final = (
    "Every owner hands its records to the service, which is trusted with them; no owner sees records of another. Owners, "
    "analysts and recipients of the model are not trusted, even if all of them collude."
)
FEDERATED_WITHIN: Final = (
    "The records of all owners are summed before one noise is added. A unit moves the sum by as much whichever owner it belongs to, "
    "so every owner's ledger is charged all mechanisms of the job, composed with parameters fixed beforehand, by privacy loss "
    "distributions and by Renyi divergences; the smaller epsilon is reported."
)
JOINT_READING: Final = (
    "For every pair of inputs that differ by all records of one privacy unit of one owner, and every set of outputs, the "
    "probability of the set under one input is at most exp(epsilon) times that under the other, plus delta. This holds for the "
    "generator and for everything ever drawn from it. Owners' units are taken to be different: a person who is a unit of j owners is "
    "protected by the bound on j units, which 'presence' states and which is weaker."
)
JOINT_ACTORS: Final = (
    "Every owner hands its records to the service, which is trusted with them; no owner sees records of another. Owners, "
    "analysts and recipients of the generator are not trusted, even if all of them collude."
)
JOINT_WITHIN: Final = (
    "The counts of all owners' records are added before one noise is added. A unit moves the sums by as much whichever owner it belongs "
    "to, so every owner's ledger is charged all mechanisms of the job, composed with parameters fixed beforehand, by privacy loss "
    "distributions and by Renyi divergences; the smaller epsilon is reported."
)
AVERAGED_WITHIN: Final = (
    "Every owner's records move a copy of the weights, by sums of clipped gradients with noise of their own, and the copies are "
    "averaged with weights from declared sizes. A unit moves the sums of its own owner alone, so every owner's ledger is charged "
    "the steps of one owner, composed with parameters fixed beforehand, by privacy loss distributions and by Renyi divergences; "
    "the smaller epsilon is reported."
)
FEDERATED_ACROSS: Final = (
    "All ledgers are reserved, spent and settled in one transaction or none is, and all are spent before records of any owner are read. "
    "Each admits a job only while a filter that is valid under adaptive choice holds for everything spent and reserved in it."
)
MEMBER_ACTORS: Final = (
    "The owner's records lie in a service of its own, which is trusted with them. The board that hands noisy weights from one owner to "
    "the others, those owners, analysts and recipients of the model are not trusted, even if all of them collude."
)
MEMBER_WITHIN: Final = (
    "This owner's records move a copy of the weights, by sums of clipped gradients with noise of their own. The weights leave the service "
    "once a round, and the next round begins with an average of weights of all owners, which may be anything: a record moves each sum by "
    "at most the clipping norm whatever the weights are. This owner's ledger is charged its own steps, composed with parameters fixed "
    "beforehand, by privacy loss distributions and by Renyi divergences; the smaller epsilon is reported."
)
MEMBER_COUNTS_ACTORS: Final = (
    "The owner's records lie in a service of its own, which is trusted with them. The board that hands noisy counts from one owner to "
    "the others, those owners, analysts and recipients of the generator are not trusted, even if all of them collude."
)
MEMBER_COUNTS_WITHIN: Final = (
    "This owner's records are counted exactly, and the whole noise that 'mechanisms' states is added before the counts leave the service, "
    "once a round. The next round's questions follow from sums of noisy counts of all owners, which may be anything: a record moves the "
    "counts by at most the stated sensitivity whatever is asked. This owner's ledger is charged its own counts, composed with parameters "
    "fixed beforehand, by privacy loss distributions and by Renyi divergences; the smaller epsilon is reported. The sums have one such "
    "noise of every owner."
)
CIPHER: Final = "ChaCha20 (RFC 8439)"
KEY: Final = "256 bits from the operating system for this job alone; destroyed when the release was published"
ADDRESSING: Final = (
    "nonce = purpose (4 bytes, little endian) followed by step (8 bytes, little endian), block counter from 0; one "
    "address serves one draw, so a resumed job repeats its noise and never adds fresh noise to the same value"
)
