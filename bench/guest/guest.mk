# A real Debian under qemu, without KVM: see docs/bench.md.
# The first build downloads and installs some 400 packages, and boots once.

# What tests with a guest: in CI the tag integration, by hand guest as well.
GUEST_TESTS := ./bench/guest
# And by hand alone.
GUEST_MATRIX := ./nodeexec/remove

.PHONY: guest-build guest-test guest

guest-build: ## Build and boot the guest's image, into the user's cache (as root)
	@bench/install.sh guest
	@$(GO) run ./bench/guest/cmd build

guest-test: guest-build
	$(GO) test -tags integration -timeout 20m -p 1 $(GUEST_TESTS)

guest: guest-build ## The whole matrix on real guests, by hand: hours; its evidence in .work/guest
	@mkdir -p .work/guest
	$(GO) test -tags integration,guest -timeout 6h -p 1 -count 1 -v $(GUEST_TESTS) $(GUEST_MATRIX) 2>&1 | tee .work/guest/$$(date -u +%Y%m%d-%H%M%S).log
