"""Bugs in the clip: one record moves the sum by more than the noise hides."""

from tests.mutants.mutant import Mutant

CLIP = "models.dp.clipping"
FORM = "models.critic.closed_form"
WHITENED = "tests/models/dp/test_private_step.py::test_one_record_moves_the_whitened_release_by_at_most_one_over_sigma"

MUTANTS = (
    Mutant(
        name="clip-off-in-one-group",
        module=FORM,
        function="ClosedForm._add",
        before="sums.addmv_(bias[:count].T, clips[:count, self._layout.bias_block])",
        after="sums.addmv_(bias[:count].T, clips[:count, self._layout.bias_block].gt(0.0).double())",
        bug="the biases are summed unclipped",
        source="parameters that a hook forgot",
        killed_by=WHITENED,
    ),
    Mutant(
        name="batch-clip",
        module=CLIP,
        function="ClipRule.factors",
        before="factors = torch.div(self._allowed, norms.sqrt_()).clamp_(max=1.0).mul_(counts)",
        after="""
            factors = (
                torch.div(self._allowed, norms.sum(dim=0, keepdim=True).sqrt_().expand_as(norms))
                .clamp_(max=1.0)
                .mul_(counts)
            )
        """,
        bug="the batch is clipped as a whole instead of every record",
        source="clip_grad_norm_ in place of per-sample clipping; research code of private GANs",
        killed_by=WHITENED,
    ),
    Mutant(
        name="clip-rounded-up",
        module=CLIP,
        function="_allowed",
        before="torch.tensor(partition.thresholds, dtype=torch.float64) * (1.0 - allowance)",
        after="torch.tensor(partition.thresholds, dtype=torch.float64) * (1.0 + allowance)",
        bug="rounding may leave a clipped record above its threshold",
        source="floating point of sums (Casacuberta and others 2022)",
        killed_by="tests/models/dp/test_clipping.py::test_factors_bound_every_group_and_keep_small_norms",
    ),
    Mutant(
        name="bad-record-not-zeroed",
        module=CLIP,
        function="ClipRule.factors",
        before="torch.div(self._allowed, norms.sqrt_()).clamp_(max=1.0).mul_(counts)",
        after="torch.div(self._allowed, norms.sqrt_()).clamp_(max=1.0)",
        bug="a record whose gradient is not a number is added to the sum and spoils it",
        source="NaN passes np.clip and torch.clamp (dp-recorder's NaN injection)",
        killed_by="tests/models/dp/test_clipping.py::test_one_bad_norm_removes_the_whole_record",
    ),
    Mutant(
        name="merged-groups-clipped-alone",
        module=CLIP,
        function="GraphClipRule.adopt",
        before="self._members.copy_(groups[:, None] == torch.arange(len(groups)))",
        after="self._members.copy_(torch.eye(len(groups)))",
        bug="on a GPU, blocks that were merged into one group are measured one by one",
        source="a recording that reads the partition it was made with",
        killed_by="tests/models/dp/test_clipping.py::test_the_graph_rule_has_the_bits_of_the_rule_of_each_partition",
    ),
    Mutant(
        name="penalty-outside-the-clip",
        module=FORM,
        function="ClosedForm._measure",
        before="torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + PLANES * CANCELLATION_SHARE)",
        after="""
            gram[:, BETWEEN, :] = 0.0
            gram[:, :, BETWEEN] = 0.0
            torch.diagonal(gram, dim1=1, dim2=2).mul_(1.0 + PLANES * CANCELLATION_SHARE)
        """,
        bug="the gradient penalty, which reads the real record, takes part in the sum but not in the norm",
        source="synthcity: the penalty's backward pass runs with the hooks switched off",
        killed_by=WHITENED,
    ),
    Mutant(
        name="batch-norm-in-the-critic",
        module="models.critic.factors",
        function="Factoring._forward",
        before="values.append(self._activation.apply_(z))",
        after="""
            z -= z.mean(dim=1, keepdim=True)
            values.append(self._activation.apply_(z))
        """,
        bug="the critic centres its layers over the batch, so every record moves the gradients of all others",
        source="batch normalisation in private training",
        killed_by=WHITENED,
    ),
    Mutant(
        name="groups-clipped-by-the-first",
        module=CLIP,
        function="ClipRule.factors",
        before="return factors if self._alone else factors[:, self._groups]",
        after="return factors[:, :1].expand(-1, len(self._groups)) if self._alone else factors[:, self._groups]",
        bug="one group's clipping factor serves all groups",
        source="parameter groups with clipping of their own",
        killed_by=WHITENED,
    ),
    Mutant(
        name="edges-follow-the-batch",
        module="models.acts",
        function="AdaptiveThresholds.counts",
        before="bins = torch.bucketize(good.sqrt(), self.edges, right=True)",
        after="""
            bins = torch.bucketize(
                good.sqrt() / good.sqrt().max().clamp(min=1e-9) * self.edges[-1], self.edges, right=True
            )
        """,
        bug="the bins of the norms' histograms are cut by the batch's maximum: one outlier moves all counts",
        source="IDPGAN, algorithm 2",
        killed_by="tests/models/test_acts.py::test_one_record_moves_the_stack_by_the_root_of_h",
    ),
    Mutant(
        name="realised-batch-divisor",
        module="models.private_step",
        function="PrivateCritic.step",
        before="self._mean.write(total, noise, drawn, divisor=self._plan.expected_batch_size, into=self._gradient)",
        after="self._mean.write(total, noise, drawn, divisor=max(1, real.shape[0]), into=self._gradient)",
        bug="the noisy sum is divided by the number of sampled records instead of the public expectation",
        source="Opacus issue 420, many private GANs",
        killed_by="tests/privacy/mutants_killed/test_public_constants.py::test_the_divisor_does_not_follow_the_batch",
    ),
)
