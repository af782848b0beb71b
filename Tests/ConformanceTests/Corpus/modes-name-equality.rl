topic modes
title Mode names are compared by content, not identity
source0 S
timer T delay=30
add S default-copy; add T default
contains S default
contains T default-copy
modes
run default-copy 0.06 no
--- golden
contains S default = yes
contains T default-copy = yes
modes = default
run default-copy
timer T mode=default
ran default-copy TIMEDOUT
end
