# A repository whose commit "change 9" makes cart_test.sh fail in 4 of 10 runs instead of 1.
cat >cart_test.sh <<'EOF'
# Fails in as many of 10 runs as the file rate says, by a counter that all worktrees share.
count=$(git rev-parse --git-common-dir)/count
n=$(cat "$count" 2>/dev/null || echo 0)
echo $((n + 1)) >"$count"
hash=$(echo "run $n" | cksum | cut -d ' ' -f 1)
test $((hash / 1000 % 10)) -ge "$(cat rate)"
EOF
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q
i=0
while [ $i -le 12 ]; do
	rate=1
	[ $i -ge 9 ] && rate=4
	echo $rate >rate
	echo $i >change
	git add cart_test.sh rate change
	export GIT_AUTHOR_DATE="2026-03-01T12:00:$((i + 10))Z" GIT_COMMITTER_DATE="2026-03-01T12:00:$((i + 10))Z"
	git commit -qm "change $i"
	[ $i -eq 0 ] && git tag v1.0
	i=$((i + 1))
done
