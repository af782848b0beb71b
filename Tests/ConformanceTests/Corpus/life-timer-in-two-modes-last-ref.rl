topic life
title A timer held by two modes only
timer T delay=5000 ctx
add T default; add T m1; drop T
note dropped
finished default; finished m1
--- golden
retain T
note dropped
finished default = no
finished m1 = no
end
